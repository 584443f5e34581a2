//! What a process has used, and what the operator's metrics say.

use std::fs;

use testbed::{Request, forward};

/// The kernel's unit of processor time in `/proc`: it is 100 on every architecture Linux has.
const TICKS: f64 = 100.0;

/// The metrics that are served at an address.
pub fn scrape(host: &str) -> String {
    let request = Request {
        method: "GET".to_owned(),
        target: "/metrics".to_owned(),
        headers: vec![("host".to_owned(), host.to_owned())],
        body: Vec::new(),
    };
    String::from_utf8(forward(&request, host).body).unwrap()
}

/// The sum of a metric over its labels.
pub fn sum(text: &str, name: &str) -> f64 {
    let lines = text.lines().filter(|line| line.starts_with(name));
    let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    // The sum of no floating-point numbers would be -0.
    values.fold(0.0, |sum, value| sum + value)
}

/// The most memory that a process has had.
pub fn peak_mebibytes(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    // `VmHWM:     1234 kB`
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kilobytes: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes / 1024.0
}

/// The processor time of a process.
pub fn processor_seconds(process: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The 14th and 15th field; the second is a name in parentheses that may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks = fields[11..13].iter().map(|field| field.parse::<f64>().unwrap());
    ticks.sum::<f64>() / TICKS
}
