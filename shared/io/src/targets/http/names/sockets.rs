//! Sockets: by what name servers are asked. The resolver takes a server for dead to which it gets no socket, and then no name has an address; so a socket
//! waits for a file where none is left.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use hickory_resolver::net::runtime::{RuntimeProvider, TokioRuntimeProvider};

use super::super::files;

/// Tokio's sockets, and all else of tokio's as it is.
#[derive(Clone, Default)]
pub(super) struct Sockets(TokioRuntimeProvider);

type Opening<T> = Pin<Box<dyn Send + Future<Output = Result<T, io::Error>>>>;

impl RuntimeProvider for Sockets {
    type Handle = <TokioRuntimeProvider as RuntimeProvider>::Handle;
    type Timer = <TokioRuntimeProvider as RuntimeProvider>::Timer;
    type Udp = <TokioRuntimeProvider as RuntimeProvider>::Udp;
    type Tcp = <TokioRuntimeProvider as RuntimeProvider>::Tcp;

    fn create_handle(&self) -> Self::Handle {
        self.0.create_handle()
    }

    fn connect_tcp(&self, to: SocketAddr, from: Option<SocketAddr>, within: Option<Duration>) -> Opening<Self::Tcp> {
        let sockets = self.0.clone();
        Box::pin(async move { files::once_one_is_free(|| sockets.connect_tcp(to, from, within)).await })
    }

    fn bind_udp(&self, from: SocketAddr, to: SocketAddr) -> Opening<Self::Udp> {
        let sockets = self.0.clone();
        Box::pin(async move { files::once_one_is_free(|| sockets.bind_udp(from, to)).await })
    }
}
