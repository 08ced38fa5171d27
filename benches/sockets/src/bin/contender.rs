//! One end of one stack: `contender STACK END ADDRESS OCTETS MILLISECONDS [OPTION]...`; ends when the time is over, or
//! when it is ended.

use headway_sockets::driver::run;
use headway_sockets::plain::{self, Writes};
use headway_sockets::stacks::{dcsctp::Dcsctp, headway::Headway, proto::Proto, rtc::Rtc};
use headway_sockets::task::Task;
use headway_sockets::{beside, product, quic};

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let Some((stack, rest)) = arguments.split_first() else { panic!("which stack?") };
    let task = Task::parse(rest);
    match stack.as_str() {
        "headway" => product::blocking(&task),
        "headway-fresh" => product::blocking(&Task { is_fresh: true, ..task }),
        "headway-ip" => product::over_ip(&task),
        "headway-tokio" => product::on_tokio(&task),
        "headway-engine" => run(&mut Headway::new(&task, task.messages()), &task),
        "headway-priority" => beside::run(&task),
        "rtc-sctp" => run(&mut Rtc::new(&task), &task),
        "sctp-proto" => run(&mut Proto::new(&task), &task),
        "dcsctp" => run(&mut Dcsctp::new(&task), &task),
        "tcp" => plain::tcp(&task, Writes::Each),
        "tcp-batched" => plain::tcp(&task, Writes::Batched),
        "raw-udp" => plain::udp(&task),
        "sockets" => plain::sockets(&task),
        "quinn" => quic::run(&task),
        other => panic!("{other} is no stack"),
    }
}
