//! Every number of the tables, and the tables they make.

use serde::{Deserialize, Serialize};

use crate::error::CompareError;
use crate::markdown::Table;
use crate::{startup, throughput, waiting};

/// What `docs/models.json` holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Results {
    /// S5's start-up over the validation grid.
    pub startup: Vec<startup::Row>,
    /// S5's stated points under several readings of its rules.
    pub startup_readings: Vec<startup::Reading>,
    /// The resequencing models.
    pub waiting: Vec<waiting::Row>,
    /// The resequencing model over loss.
    pub losses: Vec<waiting::Row>,
    /// Reno's models.
    pub reno: Vec<throughput::Row>,
    /// CUBIC's.
    pub cubic: Vec<throughput::Row>,
}

/// A part of the results that can be computed by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The start-up on a new path.
    Startup,
    /// Waiting for lost messages.
    Waiting,
    /// Waiting for lost messages, over loss.
    Losses,
    /// Rates of bulk flows.
    Throughput,
}

impl Part {
    /// Every part, by its name on the command line.
    pub const ALL: [(&str, Self); 4] = [
        ("startup", Self::Startup),
        ("waiting", Self::Waiting),
        ("losses", Self::Losses),
        ("throughput", Self::Throughput),
    ];
}

impl Results {
    /// Computes one part anew.
    ///
    /// # Errors
    /// As the comparisons.
    pub fn renew(&mut self, part: Part) -> Result<(), CompareError> {
        match part {
            Part::Startup => {
                self.startup = startup::table()?;
                self.startup_readings = startup::readings()?;
            }
            Part::Waiting => self.waiting = waiting::table()?,
            Part::Losses => self.losses = waiting::map()?,
            Part::Throughput => {
                self.reno = throughput::reno_table()?;
                self.cubic = throughput::cubic_table()?;
            }
        }
        Ok(())
    }

    /// The tables that the numbers make.
    #[must_use]
    pub fn tables(&self) -> Vec<Table> {
        vec![
            startup::table_of_grid(&self.startup),
            startup::table_of_readings(&self.startup_readings),
            waiting::table_of_waiting(&self.waiting),
            waiting::table_of_losses(&self.losses),
            throughput::table_of_reno(&self.reno),
            throughput::table_of_cubic(&self.cubic),
        ]
    }
}
