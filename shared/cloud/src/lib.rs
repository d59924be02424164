//! What every deployed process shares: its settings, its logs, and the doors of AWS.
