//! What the sender says of itself at `[status] address`, on loopback: `/healthz` and `/metrics`.

mod health;
pub mod metrics;

use crate::operate::gates::Gates;
use axum::Router;
use axum::routing::get;
use metrics::Names;
use shared::config::Config;
use shared::model::Timestamp;
use shared::platform::clock::Clock;
use shared::store::{Db, Store, StoreError};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// A database that does not answer by then is a problem of its own.
const PATIENCE: Duration = Duration::from_secs(2);

struct View {
    store: Arc<Store>,
    gates: Gates,
    names: Names,
    clock: Clock,
    started_at: Timestamp,
    /// Who asks reads in turn: of the few connections that read, one is always left to the sending.
    turn: Arc<Mutex<()>>,
}

/// Serves at `address` until it is dropped. Where that cannot be, alerts are delivered all the same.
pub fn serve(
    address: SocketAddr,
    store: Arc<Store>,
    config: &Config,
    clock: Clock,
) -> impl Future<Output = ()> + use<> {
    let view = Arc::new(View {
        store,
        gates: Gates::of(config),
        names: Names::of(config),
        started_at: clock.now(),
        clock,
        turn: Arc::default(),
    });
    let router = Router::new()
        .route("/healthz", get(health::answer))
        .route("/metrics", get(metrics::answer))
        .with_state(view);
    async move {
        let listener = match TcpListener::bind(address).await {
            Ok(listener) => listener,
            Err(error) => {
                tracing::error!(
                    "/healthz and /metrics are not served: cannot listen on {address} ({error}): another program does, or status.address is not this machine's"
                );
                return;
            }
        };
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!(%error, "/healthz and /metrics are not served any more");
        }
    }
}

impl View {
    async fn look<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Db) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let in_turn = move |db: &Db| {
            let read = work(db);
            drop(turn);
            read
        };
        self.store.read(in_turn).await
    }

    /// What was found, or why nothing was, in one sentence.
    async fn in_time<T>(
        &self,
        looking: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, String> {
        match timeout(PATIENCE, looking).await {
            Ok(found) => found.map_err(|error| error.to_string()),
            Err(_elapsed) => Err("the database does not answer".to_owned()),
        }
    }
}
