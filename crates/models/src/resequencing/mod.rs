pub(crate) const X: u8 = 0;
