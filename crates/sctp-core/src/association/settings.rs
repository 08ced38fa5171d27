//! Parameters that the user changes while the association runs.

use virtual_time::Instant;

use super::outbound::Outbound;
use super::timers::Timer;
use super::{Association, Commons};
use crate::config::{PathMtuConfig, PathSetting, PathSettings, Setting};
use crate::error::{ConfigError, SettingError};
use crate::event::PathState;
use crate::path::Path;
use crate::transmit::{PathId, PathIndex};

impl Association {
    /// Changes a parameter.
    ///
    /// # Errors
    /// The value cannot work, or not with the others.
    pub(crate) fn set(&mut self, now: Instant, setting: Setting) -> Result<(), ConfigError> {
        let config = self.session.config.with(setting)?;
        *Commons::change(&mut self.session.config) = config;
        let paths = self.outbound.paths.ids();
        match setting {
            Setting::Rto(rto) => self.outbound.each_path(|path| path.rto.set_bounds(rto)),
            Setting::Sack(sack) => {
                if let Some(receiver) = self.inbound.receiver.as_mut() {
                    receiver.set_sack_every(sack.every_packets);
                }
            }
            Setting::Heartbeat(_) => {
                for path in paths {
                    self.outbound.plan_heartbeats(now, path, &mut self.session);
                }
            }
            Setting::Attempts(_) | Setting::Paths(_) => self.outbound.paths.set_limits(&self.session.config),
            Setting::PathMtu(mtu) => {
                self.outbound.each_path(Path::forget_own_mtu);
                paths.into_iter().for_each(|path| self.outbound.set_mtu(now, path, mtu));
            }
            Setting::MaxBurst(packets) => self.outbound.set_max_burst(packets),
            Setting::Autoclose(idle) => {
                self.outbound.timers.apply(Timer::Autoclose, idle.map(|idle| now + idle));
            }
            Setting::Events(mask) => {
                self.session.events.set_mask(mask);
                self.outbound.tell_if_dry(&mut self.session);
            }
            // Each packet looks what it is.
            Setting::Dscp(_) => {}
        }
        self.after_input(now);
        Ok(())
    }

    /// Changes a parameter of one path.
    ///
    /// # Errors
    /// There is no such path, or the value cannot work.
    pub(crate) fn set_path(
        &mut self,
        now: Instant,
        id: PathId,
        setting: PathSetting,
    ) -> Result<(), SettingError> {
        setting.validate()?;
        let path = self.outbound.paths.by_id(id).ok_or(SettingError::UnknownPath(id))?;
        match setting {
            PathSetting::Heartbeats(heartbeats) => {
                self.outbound.paths.path_mut(path).own_mut().heartbeats = heartbeats;
                self.outbound.plan_heartbeats(now, path, &mut self.session);
            }
            PathSetting::Attempts(attempts) => {
                self.outbound.paths.path_mut(path).own_mut().attempts = attempts;
            }
            PathSetting::PathMtu(mtu) => {
                self.outbound.paths.path_mut(path).own_mut().path_mtu = Some(mtu);
                self.outbound.set_mtu(now, path, mtu);
            }
            PathSetting::Dscp(dscp) => self.outbound.paths.path_mut(path).own_mut().dscp = dscp,
        }
        self.after_input(now);
        Ok(())
    }
}

impl PathSettings {
    /// Returns the settings that a path of an association has of its own; `None` if there is no such path.
    #[must_use]
    pub fn of(association: &Association, path: PathId) -> Option<Self> {
        let paths = &association.outbound.paths;
        paths.by_id(path).map(|path| paths.path(path).own())
    }
}

impl Outbound {
    fn each_path(&mut self, change: impl Fn(&mut Path)) {
        for path in self.paths.ids() {
            change(self.paths.path_mut(path));
        }
    }

    fn set_max_burst(&mut self, packets: u32) {
        self.set_burst_limit(packets);
        self.each_path(|path| path.congestion.set_max_burst(packets));
    }

    /// The size of packets on a path is another one, or looked for in another way.
    fn set_mtu(&mut self, now: Instant, path: PathIndex, config: PathMtuConfig) {
        let has_shrunk = self.paths.path_mut(path).set_mtu(config);
        self.timers.stop(Timer::PathMtu(path));
        if has_shrunk {
            self.sender.on_packets_shrunk(self.paths.path(path));
        }
        if self.paths.path(path).state == PathState::Active {
            self.begin_mtu_search(now, path);
        }
    }
}
