//! The material of a call: what it takes beside its order, read before the claim and held in memory until the call is made.

use std::fmt;
use std::sync::Arc;

use minutehand_domain::signing::SigningSecrets;

/// Its `Debug` shows nothing of it: it is made of secrets.
#[derive(Clone, Default)]
pub struct Material {
    /// What the call is signed with; none where nothing is sent.
    pub signing: Option<Arc<SigningSecrets>>,
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Material").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use minutehand_domain::Moment;

    use super::*;

    #[test]
    fn a_debug_of_material_shows_nothing_of_it() {
        let signing = Some(Arc::new(SigningSecrets::new([7; 32], Moment::EPOCH)));

        assert_eq!(format!("{:?}", Material { signing }), "Material { .. }");
    }
}
