//! `/healthz`, on loopback: whether everything goes by itself, or what a person must see to.

use crate::operate::gates::Gates;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use serde_json::json;
use shared::config::Config;
use shared::platform::clock::Clock;
use shared::store::{Db, Store, StoreError, alarms, status, watch};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::timeout;

/// A database that does not answer by then is a problem of its own.
const PATIENCE: Duration = Duration::from_secs(2);

struct Health {
    store: Arc<Store>,
    gates: Gates,
    clock: Clock,
}

/// Serves at `address` until it is dropped. Where that cannot be, alerts are delivered all the same.
pub(crate) fn serve(
    address: SocketAddr,
    store: Arc<Store>,
    config: &Config,
    clock: Clock,
) -> impl Future<Output = ()> + use<> {
    let health = Arc::new(Health {
        store,
        gates: Gates::of(config),
        clock,
    });
    let router = Router::new()
        .route("/healthz", get(healthz))
        .with_state(health);
    async move {
        let listener = match TcpListener::bind(address).await {
            Ok(listener) => listener,
            Err(error) => {
                tracing::error!(
                    "/healthz is not served: cannot listen on {address} ({error}): another program does, or status.address is not this machine's"
                );
                return;
            }
        };
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!(%error, "/healthz is not served any more");
        }
    }
}

/// 200 while all goes by itself, else 503; the problems are listed either way.
async fn healthz(State(health): State<Arc<Health>>) -> Response {
    let problems = match timeout(PATIENCE, health.problems()).await {
        Ok(Ok(problems)) => problems,
        Ok(Err(error)) => vec![error.to_string()],
        Err(_elapsed) => vec!["the database does not answer".to_owned()],
    };
    let body = json!({"ok": problems.is_empty(), "problems": problems});
    let mut response = Response::new(Body::from(format!("{body}\n")));
    if !problems.is_empty() {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    let kind = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

impl Health {
    async fn problems(&self) -> Result<Vec<String>, StoreError> {
        let now = self.clock.now();
        let look = move |db: &Db| {
            let refused = status::status(db, now)?.gates;
            Ok((refused, alarms::held(db, "")?, watch::untold(db)?))
        };
        let (gates, alarms, untold) = self.store.read(look).await?;
        let refused = gates.iter().filter(|gate| gate.refused_since.is_some());
        let refused = refused.map(|gate| {
            let reason = gate.reason.as_deref().unwrap_or("no reason given");
            format!("{} is refused: {reason}", self.gates.whom(gate))
        });
        let alarms = alarms
            .into_iter()
            .map(|name| format!("the alarm {name:?} holds"));
        Ok(refused.chain(alarms).chain(untold).collect())
    }
}
