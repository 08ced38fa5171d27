//! The part of the Python package `headway` that is written in Rust. `python/headway/__init__.py` gives it its Python face.
//!
//! No panic crosses, and nothing that runs long holds the interpreter's lock. All values are plain: numbers, arrays, and text,
//! in the terms of the command line.

#![forbid(unsafe_code)]

use pyo3::exceptions::PyValueError;
use pyo3::{create_exception, pymodule};

mod approximation;
mod campaign;
mod predict;
mod shares;
mod simulate;
mod waiting;

create_exception!(headway, ModelError, PyValueError, "A model has no answer for what it was asked.");
create_exception!(headway, PlanError, PyValueError, "A plan is wrong; `line` and `key` say where.");

#[pymodule]
mod _headway {
    #[pymodule_export]
    const ENGINE: &str = env!("HEADWAY_ENGINE");
    #[pymodule_export]
    use super::campaign::{cells, half_width, run_cell};
    #[pymodule_export]
    use super::predict::{distribution, predict};
    #[pymodule_export]
    use super::simulate::{plan_of_json, simulate};
    #[pymodule_export]
    use super::{ModelError, PlanError};
}
