//! Workflows: graphs of tasks. Read it in this order: [`edge`] has the two tables by which tasks start, [`definition`] what people
//! write, [`plan`] what is compiled of it, [`join`] how edges meet, [`parts`] where it all lies. [`template`], [`expression`] and
//! [`params`] are what results, conditions and parameters are said in.

pub mod definition;
pub mod edge;
pub mod expression;
pub mod join;
pub mod key;
pub mod params;
pub mod parts;
pub mod path;
pub mod plan;
pub mod template;
