//! The rights of this process, and how it gets those that the emulator needs.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

use super::device::DeviceKind;
use super::device::try_pair;

/// The way in which the emulator can run here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Permission {
    /// The process holds `CAP_NET_ADMIN` and `CAP_SYS_ADMIN`: the current network namespace is the host's own.
    Privileged,
    /// The emulator can run in a user namespace, whose network is empty: nothing of the host can be reached
    /// through an emulated link.
    UserNamespace,
}

/// The reason why the emulator cannot run here, and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The system refuses TUN devices and pairs of virtual Ethernet devices alike.
    #[error(
        "{TUN} cannot be opened ({tun}), and a pair of virtual Ethernet devices cannot be made either ({veth}): \
         `modprobe tun` and `chmod 0666 {TUN}`, or give the container `--device {TUN}`; or `modprobe veth`"
    )]
    NoDevice {
        /// The reason why there is no TUN device.
        tun: io::Error,
        /// The reason why there is no pair.
        veth: io::Error,
    },
    /// TUN devices were asked for, and there are none.
    #[error(
        "{TUN} cannot be opened ({source}): `modprobe tun` and `chmod 0666 {TUN}`, or give the container \
         `--device {TUN}`, or do without {DEVICE_VARIABLE}=tun"
    )]
    NoTun {
        /// The reason that the kernel gave.
        source: io::Error,
    },
    /// Pairs of virtual Ethernet devices were asked for, and there are none.
    #[error(
        "a pair of virtual Ethernet devices cannot be made ({source}): `modprobe veth`, or do without \
         {DEVICE_VARIABLE}=veth"
    )]
    NoVeth {
        /// The reason that the kernel gave.
        source: io::Error,
    },
    /// A kind of device was asked for that there is not.
    #[error("{DEVICE_VARIABLE} is {value:?}: it must be `tun` or `veth`, or not be set")]
    UnknownDevice {
        /// The name that was asked for.
        value: OsString,
    },
    /// User namespaces are switched off for ordinary users.
    #[error(
        "user namespaces are refused because {sysctl} is {value}: run as root or `sysctl -w {sysctl}={remedy}`"
    )]
    UserNamespacesDisabled {
        /// The kernel parameter that forbids them.
        sysctl: &'static str,
        /// The value of the kernel parameter.
        value: String,
        /// The value that allows them.
        remedy: &'static str,
    },
    /// The kernel, a container or a security module refuses namespaces.
    #[error(
        "namespaces are refused ({errno}), probably by a container or a security module: run as root outside of \
         it, or give the container `--cap-add NET_ADMIN --cap-add SYS_ADMIN`"
    )]
    Namespaces {
        /// The reason that the kernel gave.
        errno: Errno,
    },
    /// The user's number cannot be mapped into the new user namespace.
    #[error("{file} cannot be written ({source}): run as root")]
    Mapping {
        /// The file of `/proc/self` that could not be written.
        file: &'static str,
        /// The reason that the kernel gave.
        source: io::Error,
    },
    /// The process has several threads, and only one with a single thread may enter a user namespace.
    #[error("the process has several threads already: enter_user_namespace must come first in main")]
    SeveralThreads,
}

/// Tells whether the emulator can run, without changing anything.
///
/// A container may still refuse what this finds possible; [`enter_user_namespace`] then says so.
///
/// # Errors
/// What is missing, by name, with the remedy.
pub fn permission() -> Result<Permission, Refused> {
    device_kind()?;
    if has_capabilities() {
        return Ok(Permission::Privileged);
    }
    let switches = [
        ("user.max_user_namespaces", "0", "15000"),
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ];
    for (sysctl, forbidding, remedy) in switches {
        let path = format!("/proc/sys/{}", sysctl.replace('.', "/"));
        if fs::read_to_string(path).is_ok_and(|value| value.trim() == forbidding) {
            return Err(Refused::UserNamespacesDisabled { sysctl, value: forbidding.to_owned(), remedy });
        }
    }
    Ok(Permission::UserNamespace)
}

/// Returns which kind of device the emulator uses here: TUN devices if `/dev/net/tun` can be opened, otherwise
/// pairs of virtual Ethernet devices. The environment variable `HEADWAY_DEVICE`, set to `tun` or `veth`, leaves
/// no choice; it is there for tests and for comparing the two.
///
/// A pair is tried in a namespace of its own, as soon as the process has the rights for that.
///
/// # Errors
/// What is missing, by name, with the remedy.
pub fn device_kind() -> Result<DeviceKind, Refused> {
    let kind = preferred_kind()?;
    match kind {
        DeviceKind::Tun => {
            open_tun().map_err(|source| Refused::NoTun { source })?;
        }
        DeviceKind::Veth if has_capabilities() => {
            try_pair().map_err(|veth| match (wanted_kind(), open_tun()) {
                (Ok(None), Err(tun)) => Refused::NoDevice { tun, veth },
                _ => Refused::NoVeth { source: veth },
            })?;
        }
        DeviceKind::Veth => {}
    }
    Ok(kind)
}

/// Returns the kind that [`device_kind`] returns, without a try whether it can be had.
pub(super) fn preferred_kind() -> Result<DeviceKind, Refused> {
    Ok(match wanted_kind()? {
        Some(wanted) => wanted,
        None if open_tun().is_ok() => DeviceKind::Tun,
        None => DeviceKind::Veth,
    })
}

/// Returns the kind that the environment variable asks for.
fn wanted_kind() -> Result<Option<DeviceKind>, Refused> {
    let Some(value) = std::env::var_os(DEVICE_VARIABLE) else { return Ok(None) };
    match value.to_str().and_then(DeviceKind::from_name) {
        Some(kind) => Ok(Some(kind)),
        None => Err(Refused::UnknownDevice { value }),
    }
}

fn open_tun() -> io::Result<()> {
    OpenOptions::new().read(true).write(true).open(TUN).map(drop)
}

/// Gets the rights that the emulator needs: none are missing for root, otherwise the process moves into a user
/// namespace with an empty network, as `unshare --user --map-root-user --net` does.
///
/// Must be the first thing `main` does: the kernel allows it to a process with a single thread only. With
/// several, the program is started anew, once, with the same arguments.
///
/// # Errors
/// What is missing, by name, with the remedy.
pub fn enter_user_namespace() -> Result<Permission, Refused> {
    let permission = permission()?;
    match permission {
        Permission::Privileged => return Ok(permission),
        Permission::UserNamespace => {}
    }
    if fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() > 1) {
        start_anew()?;
    }
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)
        .map_err(|errno| Refused::Namespaces { errno })?;
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("0 {user} 1"))?;
    write("/proc/self/gid_map", &format!("0 {group} 1"))?;
    // Whether a pair of virtual Ethernet devices can be made shows only now.
    device_kind()?;
    Ok(permission)
}

/// Returns only if it fails.
fn start_anew() -> Result<(), Refused> {
    if std::env::var_os(STARTED_ANEW).as_deref() == Some(OsStr::new("1")) {
        return Err(Refused::SeveralThreads);
    }
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let _why = Command::new("/proc/self/exe").arg0(name).args(arguments).env(STARTED_ANEW, "1").exec();
    Err(Refused::SeveralThreads)
}

fn write(file: &'static str, text: &str) -> Result<(), Refused> {
    fs::write(file, text).map_err(|source| Refused::Mapping { file, source })
}

/// Returns whether the effective capabilities include those for namespaces and for network devices.
fn has_capabilities() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0);
    [CAP_NET_ADMIN, CAP_SYS_ADMIN].iter().all(|capability| effective >> capability & 1 == 1)
}

const TUN: &str = "/dev/net/tun";
const DEVICE_VARIABLE: &str = "HEADWAY_DEVICE";
const STARTED_ANEW: &str = "HEADWAY_STARTED_ANEW";
/// Numbers from `capabilities(7)`.
const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_ADMIN: u32 = 21;
