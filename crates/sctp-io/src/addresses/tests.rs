#![allow(clippy::print_stderr, reason = "a test that is left out says why")]

use std::net::Ipv4Addr;
use std::process::Command;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::message::{IFA_ADDRESS, IFA_FLAGS, IFA_LOCAL, RTM_NEWADDR, RTM_NEWLINK};
use super::*;

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).unwrap();
    let mut octets = [&length.to_ne_bytes(), &kind.to_ne_bytes(), value].concat();
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets
}

fn message(kind: u16, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(16 + body.len()).unwrap();
    [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10], body].concat()
}

fn link(index: u32, flags: u32) -> Vec<u8> {
    message(RTM_NEWLINK, &[[0; 4], index.to_ne_bytes(), flags.to_ne_bytes(), [0; 4]].concat())
}

fn new_address(index: u32, attributes: &[u8]) -> Vec<u8> {
    message(RTM_NEWADDR, &[&[0; 4], &index.to_ne_bytes()[..], attributes].concat())
}

fn read(octets: &[u8]) -> Vec<News> {
    Messages::new(octets).collect()
}

#[test]
fn local_address_of_a_point_to_point_link_is_ours_and_the_other_is_not() {
    let both = [attribute(IFA_ADDRESS, &[10, 0, 0, 2]), attribute(IFA_LOCAL, &[10, 0, 0, 1])].concat();
    let ours = News::Address { index: 7, address: [10, 0, 0, 1].into(), is_tentative: false };
    assert_eq!(read(&new_address(7, &both)), [ours]);
}

#[test]
fn tentative_address_is_told_apart_and_several_messages_are_read() {
    let octets =
        [attribute(IFA_ADDRESS, &[0xfd; 16]), attribute(IFA_FLAGS, &0x40_u32.to_ne_bytes())].concat();
    let tentative = News::Address { index: 2, address: [0xfd; 16].into(), is_tentative: true };
    let up = News::Link { index: 2, is_running: true };
    assert_eq!(read(&[new_address(2, &octets), link(2, 0x41)].concat()), [tentative, up]);
}

#[test]
fn truncated_messages_end_the_walk() {
    let whole = [link(3, 0x41), new_address(3, &attribute(IFA_LOCAL, &[10, 0, 0, 1]))].concat();
    for length in 0..whole.len() {
        assert!(read(&whole[..length]).len() < 2, "{length} octets");
    }
    assert_eq!(read(&[0; 64]), []);
    assert_eq!(read(&[0xff; 64]), []);
}

#[test]
fn address_is_usable_only_while_its_link_runs() {
    let address = IpAddr::from([10, 0, 0, 1]);
    let assigned = News::Address { index: 1, address, is_tentative: false };
    let mut table = AddressTable::default();
    assert_eq!(table.apply(assigned).count(), 0, "no link yet");
    let up: Vec<_> = table.apply(News::Link { index: 1, is_running: true }).collect();
    assert_eq!(up, [AddressEvent::Up(address)]);
    let down: Vec<_> = table.apply(News::Link { index: 1, is_running: false }).collect();
    assert_eq!(down, [AddressEvent::Down(address)]);
}

#[test]
fn address_on_two_links_is_lost_with_the_second() {
    let address = IpAddr::from([10, 0, 0, 1]);
    let mut table = AddressTable::default();
    for index in [1, 2] {
        table.apply(News::Link { index, is_running: true }).for_each(drop);
        table.apply(News::Address { index, address, is_tentative: false }).for_each(drop);
    }
    assert_eq!(table.apply(News::LinkGone { index: 1 }).count(), 0);
    let lost: Vec<_> = table.apply(News::AddressGone { index: 2, address }).collect();
    assert_eq!(lost, [AddressEvent::Down(address)]);
}

#[test]
fn tables_differ_by_what_came_and_what_went() {
    let [old, new] = [1, 2].map(|last| {
        let mut table = AddressTable::default();
        let address = IpAddr::from([10, 0, 0, last]);
        table.apply(News::Link { index: 1, is_running: true }).for_each(drop);
        table.apply(News::Address { index: 1, address, is_tentative: false }).for_each(drop);
        table
    });
    let changes: Vec<_> = old.changes_to(&new).collect();
    assert_eq!(changes, [AddressEvent::Up([10, 0, 0, 2].into()), AddressEvent::Down([10, 0, 0, 1].into())]);
}

/// In a network namespace of its own, where only the loopback device is.
#[test]
fn kernel_tells_of_addresses_and_links_that_come_and_go() {
    let outcome = std::thread::spawn(|| {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            return Err(format!("no network namespace: {error}"));
        }
        if Command::new("ip").arg("-V").output().is_err() {
            return Err("the command `ip` is not installed".into());
        }
        watch_loopback();
        Ok(())
    });
    if let Err(reason) = outcome.join().unwrap() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{reason}");
        eprintln!("left out: {reason}");
    }
}

fn watch_loopback() {
    let mut watch = AddressWatch::open().unwrap();
    assert_eq!(watch.usable().count(), 0);
    ip("link set lo up");
    let localhost = IpAddr::V4(Ipv4Addr::LOCALHOST);
    wait_for(&mut watch, AddressEvent::Up(localhost));
    let second = IpAddr::from([10, 9, 8, 7]);
    ip("address add 10.9.8.7/32 dev lo");
    wait_for(&mut watch, AddressEvent::Up(second));
    assert!(watch.usable().any(|address| address == second));
    ip("address delete 10.9.8.7/32 dev lo");
    wait_for(&mut watch, AddressEvent::Down(second));
    ip("link set lo down");
    wait_for(&mut watch, AddressEvent::Down(localhost));
    assert_eq!(AddressWatch::open().unwrap().usable().count(), 0);
}

fn ip(arguments: &str) {
    assert!(Command::new("ip").args(arguments.split(' ')).status().unwrap().success(), "ip {arguments}");
}

/// Reads events until this one; five seconds each at most.
fn wait_for(watch: &mut AddressWatch, wanted: AddressEvent) {
    let timeout = Timespec::try_from(Duration::from_secs(5)).unwrap();
    loop {
        while let Some(event) = watch.poll_event().unwrap() {
            if event == wanted {
                return;
            }
        }
        let readable = poll(&mut [PollFd::new(watch, PollFlags::IN)], Some(&timeout)).unwrap();
        assert_eq!(readable, 1, "no {wanted:?}");
    }
}
