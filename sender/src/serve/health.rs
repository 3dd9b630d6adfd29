//! `/healthz`: whether everything goes by itself, or what a person must see to.

use super::View;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::Response;
use serde_json::json;
use shared::store::{Db, StoreError, alarms, status, watch};
use std::sync::Arc;

/// 200 while all goes by itself, else 503; the problems are listed either way.
pub(super) async fn answer(State(view): State<Arc<View>>) -> Response {
    let problems = match view.in_time(problems(&view)).await {
        Ok(problems) => problems,
        Err(why) => vec![why],
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

async fn problems(view: &View) -> Result<Vec<String>, StoreError> {
    let now = view.clock.now();
    let look = move |db: &Db| {
        let refused = status::status(db, now)?.gates;
        Ok((refused, alarms::held(db, "")?, watch::untold(db)?))
    };
    let (gates, alarms, untold) = view.look(look).await?;
    let refused = gates.iter().filter(|gate| gate.refused_since.is_some());
    let refused = refused.map(|gate| {
        let reason = gate.reason.as_deref().unwrap_or("no reason given");
        format!("{} is refused: {reason}", view.gates.whom(gate))
    });
    let alarms = alarms
        .into_iter()
        .map(|name| format!("the alarm {name:?} holds"));
    Ok(refused.chain(alarms).chain(untold).collect())
}
