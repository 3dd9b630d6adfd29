//! The connections: bounded in number, in the time that their headers take, and in their size.

use super::behind::behind;
use super::hook::{Answer, Receiver};
use super::seats::{Seat, Seats};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router, extract::Request};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use listenfd::ListenFd;
use shared::Failure;
use shared::config::Config;
use shared::platform::clock::Clock;
use shared::platform::systemd;
use shared::store::{Remedy, Store, StoreError};
use std::future::Future;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};

/// Who has sent no whole headers by then is gone; sooner, when another needs the seat.
const HEADER_TIME: Duration = Duration::from_secs(3);
/// Of headers; more is no webhook's.
const HEADER_BYTES: usize = 16 * 1024;
const HEADERS: usize = 64;
/// What is being received may end, within so long.
const ENDING: Duration = Duration::from_secs(10);

/// What a receiver needs from outside.
pub struct Scene {
    pub config: Config,
    pub clock: Clock,
    /// A socket that is open already; else systemd's, else the configuration's address.
    pub socket: Option<StdListener>,
}

/// Receives until `stop`.
///
/// # Errors
/// No socket, or no database that can ever be used.
pub async fn run(scene: Scene, stop: impl Future<Output = ()>) -> Result<(), Failure> {
    let listener = listener(&scene)?;
    let connections = scene.config.listen.connections;
    let webhooks = scene.config.webhooks.len();
    let receiver = Receiver::new(scene.config, scene.clock);
    let receiver = receiver.map_err(|problem| Failure::Unexpected(problem.to_string()))?;
    let receiver = Arc::new(receiver);
    if let Err(error) = receiver.spool.clear().and_then(|()| receiver.spool.count()) {
        tracing::warn!(%error, "what an earlier receiver left half written stays in the spool");
    }
    // A database that is held, or on a full disk, comes later: who posts now is heard all the same.
    if let Err(error) = open(&receiver).await {
        match error.remedy() {
            Remedy::Wait => tracing::warn!("all goes to the spool for now: {error}"),
            Remedy::Skip | Remedy::Stop => return Err(error.into()),
        }
    }
    let address = listener.local_addr().map_err(|error| unusable(&error))?;
    tracing::info!(%address, webhooks, "listening");
    systemd::ready();
    systemd::status(&format!("listening on {address} for {webhooks} webhooks"));
    let (ending, ended) = watch::channel(false);
    let router = router(Arc::clone(&receiver));
    let behind = tokio::spawn(behind(Arc::clone(&receiver)));
    let mut open = JoinSet::new();
    let seats = Seats::new(connections, Duration::ZERO);
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = accept(&listener, &seats) => accepted,
        };
        while open.try_join_next().is_some() {}
        match accepted {
            Ok((stream, seat)) => {
                open.spawn(serve(stream, seat, router.clone(), ended.clone()));
            }
            // No descriptor is left, perhaps: one that is slow gives up its own.
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                seats.oust(Duration::ZERO);
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
    systemd::stopping();
    drop(listener);
    ending.send_replace(true);
    let all = async { while open.join_next().await.is_some() {} };
    if timeout(ENDING, all).await.is_err() {
        tracing::warn!("connections are cut that did not end within {ENDING:?}");
    }
    behind.abort();
    Ok(())
}

/// The database, unless it is open already.
pub(super) async fn open(receiver: &Receiver) -> Result<Arc<Store>, StoreError> {
    if let Some(store) = receiver.store.get() {
        return Ok(Arc::clone(store));
    }
    let path = receiver.config.state_path.clone();
    let opened = spawn_blocking(move || Store::open(&path)).await;
    let opened = opened.map_err(|panic| StoreError::Bug(panic.to_string()))??;
    Ok(Arc::clone(receiver.store.get_or_init(|| Arc::new(opened))))
}

fn unusable(error: &std::io::Error) -> Failure {
    Failure::Unexpected(format!("the socket cannot be used: {error}"))
}

fn listener(scene: &Scene) -> Result<TcpListener, Failure> {
    let passed = match &scene.socket {
        Some(socket) => Some(socket.try_clone().map_err(|error| unusable(&error))?),
        None => ListenFd::from_env()
            .take_tcp_listener(0)
            .map_err(|error| unusable(&error))?,
    };
    let address = scene.config.listen.address;
    let socket = match passed {
        Some(socket) => socket,
        None => StdListener::bind(address).map_err(|error| {
            Failure::Unexpected(format!(
                "cannot listen on {address} ({error}): another program does, or listen.address is not this machine's"
            ))
        })?,
    };
    socket
        .set_nonblocking(true)
        .and_then(|()| TcpListener::from_std(socket))
        .map_err(|error| unusable(&error))
}

async fn accept(listener: &TcpListener, seats: &Arc<Seats>) -> std::io::Result<(TcpStream, Seat)> {
    let (stream, _peer) = listener.accept().await?;
    Ok((stream, seats.take(1).await?))
}

async fn serve(stream: TcpStream, seat: Seat, router: Router, mut ended: watch::Receiver<bool>) {
    let seat = Arc::new(seat);
    let service = TowerToHyperService::new(router.layer(Extension(Arc::clone(&seat))));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(HEADER_BYTES)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let served = tokio::select! {
        served = &mut connection => served,
        _ = ended.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = seat.ousted() => return,
    };
    if let Err(error) = served {
        tracing::debug!("a connection ended: {error}");
    }
}

fn router(receiver: Arc<Receiver>) -> Router {
    Router::new()
        .route("/hook/{name}", post(hook))
        .route("/heartbeat/{*call}", get(heartbeat).post(heartbeat))
        .fallback(nothing)
        .method_not_allowed_fallback(wrong_method)
        .with_state(receiver)
}

async fn hook(
    State(receiver): State<Arc<Receiver>>,
    Extension(seat): Extension<Arc<Seat>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    let answered = receiver.receive(&name, &headers, request.into_body(), &seat);
    let answered = answered.await.unwrap_or_else(|refused| refused);
    seat.waits();
    answered
}

/// `HEAD` too.
async fn heartbeat(
    State(receiver): State<Arc<Receiver>>,
    Extension(seat): Extension<Arc<Seat>>,
    request: Request,
) -> Answer {
    let target = request.uri().path().to_owned();
    let heard = receiver.hear(&target, request.into_body(), &seat).await;
    seat.waits();
    match heard {
        Some(answer) => answer,
        None => nothing().await,
    }
}

async fn nothing() -> Answer {
    Answer {
        status: StatusCode::NOT_FOUND,
        text: "nothing is here".to_owned(),
    }
}

async fn wrong_method() -> Answer {
    Answer {
        status: StatusCode::METHOD_NOT_ALLOWED,
        text: "write POST".to_owned(),
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let Self { status, text } = self;
        let mut response = Response::new(Body::from(format!("{text}\n")));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        let plain = header::HeaderValue::from_static("text/plain; charset=utf-8");
        headers.insert(header::CONTENT_TYPE, plain);
        if matches!(
            status,
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS
        ) {
            let wait = header::HeaderValue::from_static("60");
            headers.insert(header::RETRY_AFTER, wait);
        }
        // What is left of a body that was refused is not waited for.
        if status.is_client_error() || status.is_server_error() {
            headers.insert(
                header::CONNECTION,
                header::HeaderValue::from_static("close"),
            );
        }
        response
    }
}
