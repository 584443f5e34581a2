//! The standard process metrics of Prometheus clients, read from Linux' `/proc` for each scrape; other systems report
//! none.

use std::fs;

use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

/// The kernel's unit of processor time in `/proc`: it is 100 a second on every architecture Linux has.
const TICKS: f64 = 100.0;
/// The fields of `/proc/self/stat` behind the name that hold processor time in user and kernel mode.
const TIMES: std::ops::Range<usize> = 11..13;

pub(super) fn register(registry: &mut Registry) {
    if let Some(seconds) = fs::read_to_string("/proc/self/stat")
        .ok()
        .as_deref()
        .and_then(cpu_seconds)
    {
        let counter = ConstCounter::new(seconds);
        registry.register(
            "process_cpu_seconds",
            "Processor time in user and kernel mode",
            counter,
        );
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    for (field, name, help) in [
        ("VmRSS:", "process_resident_memory_bytes", "Resident memory"),
        ("VmSize:", "process_virtual_memory_bytes", "Virtual memory"),
    ] {
        if let Some(bytes) = memory(&status, field) {
            registry.register(name, help, ConstGauge::new(bytes));
        }
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        let open = ConstGauge::new(i64::try_from(files.count()).unwrap_or(i64::MAX));
        registry.register("process_open_fds", "Open file descriptors", open);
    }
}

/// The process name may contain spaces and parentheses: the fields follow the last parenthesis.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(TIMES)?.iter().map(|field| field.parse::<u32>().ok());
    ticks.sum::<Option<u32>>().map(|ticks| f64::from(ticks) / TICKS)
}

fn memory(status: &str, field: &str) -> Option<i64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kib: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_is_read_as_linux_writes_it() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0 9 1000 200";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(cpu_seconds("7 (a) S 1"), None);
        let status = "Name:\ta\nVmSize:\t  2048 kB\nVmRSS:\t     10 kB\n";
        assert_eq!(memory(status, "VmRSS:"), Some(10_240));
        assert_eq!(memory(status, "VmSwap:"), None);
    }
}
