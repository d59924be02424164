//! Watched: the process's memory and CPU time under bad clients, as counted by the kernel.

use std::fs;

use crate::server::Server;

/// A clock tick of `/proc`, on every machine there is.
const TICK_MS: u64 = 10;

/// Memory it has now, in MiB.
pub(crate) fn resident_mib(server: &Server) -> u64 {
    let status = read(server, "status");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("it says how much");
    let kib: u64 = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number");
    kib / 1024
}

/// The most that the kernel keeps for one of its clients who has not read it, in KiB.
pub(crate) fn most_unread_kib(server: &Server) -> u64 {
    unread_kib(server).into_iter().max().unwrap_or(0)
}

/// What the kernel keeps for each of its clients that has not read it, in KiB.
pub(crate) fn unread_kib(server: &Server) -> Vec<u64> {
    let port = format!(":{:04X}", server.address().port());
    let connections = read(server, "net/tcp");
    let unread = connections.lines().filter_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let (here, queues) = (fields.get(1)?, fields.get(4)?);
        let (unread, _) = queues.split_once(':').filter(|_| here.ends_with(&port))?;
        u64::from_str_radix(unread, 16).ok()
    });
    unread.map(|bytes| bytes / 1024).collect()
}

/// What it has spent on the processors so far, in milliseconds.
pub(crate) fn busy_ms(server: &Server) -> u64 {
    let stat = read(server, "stat");
    let after_the_name = stat.rsplit_once(')').expect("a name").1;
    let fields: Vec<_> = after_the_name.split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|ticks| ticks.parse::<u64>().expect("a number")).sum();
    ticks * TICK_MS
}

fn read(server: &Server, what: &str) -> String {
    fs::read_to_string(format!("/proc/{}/{what}", server.pid())).expect("it is our child")
}
