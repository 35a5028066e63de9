//! One row from either engine.

use std::str::FromStr;

use agentyard_model::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Postgres, Row as _, Sqlite, Type};

use crate::{Error, Result};

/// One row of an answer.
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    pub(crate) fn text(&self, column: &'static str) -> Result<String> {
        self.get(column)
    }

    pub(crate) fn optional_text(&self, column: &'static str) -> Result<Option<String>> {
        self.get(column)
    }

    pub(crate) fn integer(&self, column: &'static str) -> Result<i64> {
        self.get(column)
    }

    pub(crate) fn optional_integer(&self, column: &'static str) -> Result<Option<i64>> {
        self.get(column)
    }

    /// A number that is never negative.
    pub(crate) fn count(&self, column: &'static str) -> Result<u32> {
        u32::try_from(self.integer(column)?).map_err(|error| unreadable(column, error))
    }

    /// A small number, or none.
    pub(crate) fn optional_number(&self, column: &'static str) -> Result<Option<i32>> {
        self.optional_integer(column)?
            .map(i32::try_from)
            .transpose()
            .map_err(|error| unreadable(column, error))
    }

    /// A size, or none.
    pub(crate) fn optional_size(&self, column: &'static str) -> Result<Option<u64>> {
        self.optional_integer(column)?
            .map(u64::try_from)
            .transpose()
            .map_err(|error| unreadable(column, error))
    }

    /// A size.
    pub(crate) fn size(&self, column: &'static str) -> Result<u64> {
        u64::try_from(self.integer(column)?).map_err(|error| unreadable(column, error))
    }

    /// Whether it is so: 1, or 0.
    pub(crate) fn is(&self, column: &'static str) -> Result<bool> {
        Ok(self.integer(column)? != 0)
    }

    pub(crate) fn timestamp(&self, column: &'static str) -> Result<Timestamp> {
        self.integer(column).map(Timestamp::from_microseconds)
    }

    pub(crate) fn optional_timestamp(&self, column: &'static str) -> Result<Option<Timestamp>> {
        Ok(self.optional_integer(column)?.map(Timestamp::from_microseconds))
    }

    /// What was stored as it displays itself.
    pub(crate) fn parsed<T>(&self, column: &'static str) -> Result<T>
    where
        T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
    {
        self.text(column)?
            .parse()
            .map_err(|error| unreadable(column, error))
    }

    /// What was stored as it displays itself, or not at all.
    pub(crate) fn optional_parsed<T>(&self, column: &'static str) -> Result<Option<T>>
    where
        T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
    {
        self.optional_text(column)?
            .map(|text| text.parse())
            .transpose()
            .map_err(|error| unreadable(column, error))
    }

    fn get<T>(&self, column: &'static str) -> Result<T>
    where
        T: for<'row> Decode<'row, Sqlite> + Type<Sqlite>,
        T: for<'row> Decode<'row, Postgres> + Type<Postgres>,
    {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
        .map_err(|error| unreadable(column, error))
    }
}

/// The value of this column is not what we write there.
pub(crate) fn unreadable(
    column: &'static str,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::Unreadable {
        column,
        source: error.into(),
    }
}
