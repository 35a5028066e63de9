//! Whom a sandbox that stays may reach, changed while it runs.

use agentyard_sandbox::{
    Addresses, Bubblewrap, BubblewrapSettings, CommandError, Egress, EgressSettings, Network, Reach,
    Sandbox as _, Standing,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::sandbox_suite::Plot;
use crate::sandbox_suite::standing::{said, stood};
use crate::support::settings;

/// A sandbox whose outside world is a server of this test, under every name.
async fn with_outside() -> Bubblewrap {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = [0; 1024];
            let _ = stream.read(&mut asked).await;
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi")
                .await;
        }
    });
    let egress = Egress::new(EgressSettings {
        addresses: Addresses::new(move |_, _| Ok(vec![address]), |_| None),
        ..EgressSettings::default()
    });
    Bubblewrap::new(BubblewrapSettings {
        egress: Some(egress.unwrap()),
        ..settings()
    })
}

/// The status with which a host answers, through the proxy that the environment names.
async fn status(standing: &Standing, host: &str) -> String {
    let ask = format!(
        "p=${{http_proxy#http://}}; exec 3<>/dev/tcp/${{p%:*}}/${{p#*:}};
         printf 'GET http://{host}/ HTTP/1.1\\r\\nhost: {host}\\r\\nconnection: close\\r\\n\\r\\n' >&3;
         head -n1 <&3 | cut -d' ' -f2"
    );
    said(standing, &ask).await.trim().to_owned()
}

fn reach(network: Network, allowed: &[&str], denied: &[&str]) -> Reach {
    let list = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    Reach {
        network,
        allowed: list(allowed),
        denied: list(denied),
    }
}

#[tokio::test]
async fn a_sandbox_reaches_whom_it_may_reach_now() {
    let plot = Plot::new();
    let standing = stood(&with_outside().await, plot.site().await).await;
    assert_eq!(status(&standing, "a.example").await, "403");
    for (now, a, b) in [
        (reach(Network::Full, &[], &[]), "200", "200"),
        (reach(Network::Full, &["a.example"], &[]), "200", "403"),
        (reach(Network::Full, &["*.example"], &["0.0.0.0/0"]), "200", "200"),
        (reach(Network::Full, &[], &["a.example"]), "403", "200"),
        (reach(Network::Full, &[], &["127.0.0.0/8"]), "403", "403"),
        (reach(Network::Full, &["127.0.0.1"], &[]), "200", "200"),
        (reach(Network::Registry, &[], &[]), "403", "403"),
        (reach(Network::None, &["a.example"], &[]), "403", "403"),
    ] {
        standing.set_reach(now.clone()).await.unwrap();
        assert_eq!(status(&standing, "a.example").await, a, "{now:?}");
        assert_eq!(status(&standing, "b.example").await, b, "{now:?}");
    }
    let refused = standing
        .set_reach(reach(Network::Full, &["not a host"], &[]))
        .await;
    assert!(
        matches!(refused, Err(CommandError::Refused { .. })),
        "{refused:?}"
    );
    standing.take_down().await;
}

#[tokio::test]
async fn whom_a_sandbox_may_reach_is_said_when_it_is_stood_up() {
    let plot = Plot::new();
    let sandbox = with_outside().await;
    let mut site = plot.site().await;
    site.reach = reach(Network::Full, &["a.example"], &[]);
    let standing = stood(&sandbox, site).await;
    assert_eq!(status(&standing, "a.example").await, "200");
    assert_eq!(status(&standing, "b.example").await, "403");
    standing.take_down().await;
    let mut site = plot.site().await;
    site.reach = reach(Network::Full, &["1.2.3.4/99"], &[]);
    let refused = sandbox.stand_up(site).await;
    assert!(
        matches!(refused, Err(CommandError::Refused { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn without_a_way_out_nobody_is_promised_one() {
    let plot = Plot::new();
    let standing = stood(&Bubblewrap::new(settings()), plot.site().await).await;
    standing.set_reach(Reach::default()).await.unwrap();
    let refused = standing.set_reach(reach(Network::Full, &[], &[])).await;
    assert!(
        matches!(refused, Err(CommandError::Refused { .. })),
        "{refused:?}"
    );
    standing.take_down().await;
}
