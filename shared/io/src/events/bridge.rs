//! Events on an EventBridge bus.
