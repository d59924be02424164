//! The store on DynamoDB.
