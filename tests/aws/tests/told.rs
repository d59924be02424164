//! What is told to other services of AWS: to the bus, and to those that jobs call.

#[path = "told/bus.rs"]
mod bus;
#[path = "told/services.rs"]
mod services;
