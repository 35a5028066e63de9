//! One connection of a program in a sandbox: requests in plain text, and at most one tunnel, which is its last.

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use http::{Method, Request, Response, Uri};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::TcpStream;

use super::Tenancy;
use super::destination::{Destination, Host};
use super::hello::{self, Hello, MAX_HELLO};
use super::meter::{Metered, Pulse};
use super::reach::{Grant, Verdict};
use super::refusal::Refusal;
use super::registries::Way;
use super::relay::{self, Relayed};
use super::upstream::{Far, Outlet};
use crate::command::Network;

/// The least that the parser of requests works with.
const MIN_HEADER_BYTES: usize = 8 * 1024;

/// What is answered: our own words, or what came from outside.
type Answer = Response<Either<Full<Bytes>, Relayed>>;

struct Client {
    tenancy: Arc<Tenancy>,
    tunnel: Mutex<Option<Tunnel>>,
}

/// A tunnel that was promised, and begins when the promise was sent.
struct Tunnel {
    near: OnUpgrade,
    far: Far,
    destination: Destination,
    /// Whether the one at its end must be asked for inside it too.
    must_be_itself: bool,
}

/// Answers one connection until it ends, or is quiet for too long.
pub(super) async fn serve(stream: TcpStream, tenancy: &Arc<Tenancy>) {
    let pulse = Arc::new(Pulse::new());
    let metered = Metered::new(stream, tenancy, &pulse);
    let client = Client {
        tenancy: Arc::clone(tenancy),
        tunnel: Mutex::default(),
    };
    tokio::select! {
        () = client.talk(metered) => {}
        () = pulse.stops(tenancy.policy.bounds.idle) => {}
    }
}

impl Client {
    /// However it ends, there is nobody left to tell.
    async fn talk(&self, stream: Metered) {
        let bounds = &self.tenancy.policy.bounds;
        let service = service_fn(|request| async { Ok::<_, Infallible>(self.answer(request).await) });
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(bounds.header_time)
            .max_buf_size(bounds.header_bytes.max(MIN_HEADER_BYTES))
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades()
            .await;
        let tunnel = self.tunnel.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Ok(()), Some(tunnel)) = (served, tunnel) {
            let _ = self.carry(tunnel).await;
        }
    }

    /// Carries what both ends of a tunnel say.
    async fn carry(&self, tunnel: Tunnel) -> io::Result<()> {
        let near = tunnel.near.await.map_err(io::Error::other)?;
        let (mut near, mut far) = (TokioIo::new(near), tunnel.far);
        if tunnel.must_be_itself {
            let (said, hello) = first_words(&mut near).await?;
            if hello != Hello::For(tunnel.destination.host.to_string()) {
                self.tenancy.remember(&Refusal::forbidden(
                    &tunnel.destination,
                    "in the tunnel somebody else was asked for, or not by TLS",
                ));
                near.write_all(hello::DENIED).await?;
                return near.shutdown().await;
            }
            far.write_all(&said).await?;
        }
        copy_bidirectional(&mut near, &mut far).await.map(drop)
    }

    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let answered = if request.method() == Method::CONNECT {
            self.open_tunnel(request).await
        } else {
            self.pass_on(request).await
        };
        answered.unwrap_or_else(|refusal| {
            self.tenancy.remember(&refusal);
            refusal.response().map(Either::Left)
        })
    }

    async fn open_tunnel(&self, mut request: Request<Incoming>) -> Result<Answer, Refusal> {
        let destination = destination(request.uri(), None)?;
        let grant = self.tenancy.grant();
        let (outlet, verdict) = self.outlet(&grant, &destination, Way::Tunnel).await?;
        // Others share the addresses of a host that is known by its name only.
        let must_be_itself = verdict == Verdict::Named
            || (grant.network == Network::Registry && outlet.trust().must_be_itself());
        let tunnel = Tunnel {
            near: hyper::upgrade::on(&mut request),
            far: outlet.tunnel().await?,
            destination: destination.clone(),
            must_be_itself,
        };
        *self.tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some(tunnel);
        Ok(Response::new(Either::Left(Full::default())))
    }

    async fn pass_on(&self, request: Request<Incoming>) -> Result<Answer, Refusal> {
        if request.uri().scheme_str() != Some("http") {
            return Err(Refusal::senseless(
                request.uri().path(),
                "this is a proxy; it takes CONNECT for https, and http with the whole address",
            ));
        }
        let destination = destination(request.uri(), Some(80))?;
        let grant = self.tenancy.grant();
        let only_reads = matches!(*request.method(), Method::GET | Method::HEAD);
        if grant.network == Network::Registry && !only_reads {
            return Err(Refusal::forbidden(
                &destination,
                "over plain http a registry is only read from; use https",
            ));
        }
        let (outlet, _) = self.outlet(&grant, &destination, Way::Plain).await?;
        Ok(relay::pass_on(outlet, request).await?.map(Either::Right))
    }

    async fn outlet<'a>(
        &'a self,
        grant: &Grant,
        destination: &'a Destination,
        way: Way,
    ) -> Result<(Outlet<'a>, Verdict), Refusal> {
        let policy = &self.tenancy.policy;
        let trust = policy
            .registries
            .permit(grant.network, destination, way)
            .map_err(|reason| Refusal::forbidden(destination, reason))?;
        let verdict = grant.judge(destination)?;
        let may_be = |addresses: &[_]| grant.judge_addresses(destination, verdict, addresses);
        let outlet = Outlet::find(policy, destination, trust, may_be).await?;
        if verdict == Verdict::NeedsAllowedAddress && !outlet.is_known() {
            return Err(Refusal::forbidden(
                destination,
                "its addresses are not known here, and this sandbox may reach certain ones only; allow it by its name",
            ));
        }
        Ok((outlet, verdict))
    }
}

/// What is said first in a tunnel, up to where it tells whom it is for.
async fn first_words(near: &mut (impl AsyncRead + Unpin)) -> io::Result<(BytesMut, Hello)> {
    let mut said = BytesMut::with_capacity(MAX_HELLO);
    loop {
        let ended = near.read_buf(&mut said).await? == 0;
        match Hello::read(&said) {
            Hello::Incomplete if !ended => {}
            hello => return Ok((said, hello)),
        }
    }
}

/// Where a request wants to go. Who it says it is stays out of the address: that belongs into headers.
fn destination(uri: &Uri, usual_port: Option<u16>) -> Result<Destination, Refusal> {
    let senseless = |reason| {
        let asked = uri.authority().map_or("", |authority| {
            authority
                .as_str()
                .rsplit_once('@')
                .map_or(authority.as_str(), |(_, host)| host)
        });
        Refusal::senseless(asked, reason)
    };
    let authority = uri
        .authority()
        .ok_or_else(|| senseless("there is no host in it"))?;
    if authority.as_str().contains('@') {
        return Err(senseless("there is a user in the address"));
    }
    let host = Host::parse(authority.host()).map_err(senseless)?;
    let written = authority.as_str().len() > authority.host().len();
    let port = if written { authority.port_u16() } else { usual_port };
    let port = port
        .filter(|port| *port != 0)
        .ok_or_else(|| senseless("there is no port in it"))?;
    Ok(Destination { host, port })
}
