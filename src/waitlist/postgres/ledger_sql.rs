//! The statements about the ledger. Each may be repeated, and may arrive late. A repetition of what is there already
//! writes its rows again, so that its commit waits until the first one is durable, at the standby too.

/// Returns the messages, the oldest first.
pub(super) const READ_MESSAGES: &str = "
    SELECT id, begun_at, subject, text_digest FROM waitlist_messages ORDER BY begun_at, id";

/// Adds a message. If there is one with this id, it stays as it is.
pub(super) const ADD_MESSAGE: &str = "
    INSERT INTO waitlist_messages AS known (id, begun_at, subject, text_digest) VALUES ($1, $2, $3, $4)
    ON CONFLICT (id) DO UPDATE SET subject = known.subject";

/// Returns the deliveries of message $1 with numbers from $2 and below $3, in the order of their numbers.
pub(super) const READ_DELIVERIES: &str = "
    SELECT recipient,
        CASE WHEN state = 'sending' AND leased_until < now() THEN 'unknown' ELSE state END,
        since, attempts, code, reply
    FROM waitlist_deliveries
    WHERE message = $1 AND number >= $2 AND number < $3
    ORDER BY number";

/// Adds deliveries to message $1, the first one with number $2, if there are $2 deliveries. $3 are their recipients, $4
/// their states, $5 the times since when, $6 and $7 the replies of the server. $8 is the id of the addition. Returns the
/// numbers of those that it has added. Twice: it returns the same numbers. If another addition with these numbers has not
/// committed yet, it waits for that, and the primary key rejects it (23505).
pub(super) const ADD_DELIVERIES: &str = "
    WITH known AS (
        UPDATE waitlist_deliveries SET added_by = added_by
        WHERE message = $1::text AND added_by = $8::uuid
            AND number >= $2::bigint AND number < $2::bigint + cardinality($3::bytea[])
        RETURNING number
    ), added AS (
        INSERT INTO waitlist_deliveries
            (message, number, recipient, state, since, code, reply, added_by, attempts)
        SELECT $1::text, $2::bigint + new.at - 1, new.recipient, new.state, new.since, new.code, new.reply, $8::uuid, 0
        FROM unnest($3::bytea[], $4::text[], $5::timestamptz[], $6::bigint[], $7::text[])
            WITH ORDINALITY AS new (recipient, state, since, code, reply, at)
        WHERE EXISTS (SELECT 1 FROM waitlist_messages WHERE id = $1::text)
            AND $2::bigint = (SELECT count(*) FROM waitlist_deliveries WHERE message = $1::text)
        RETURNING number
    )
    SELECT number FROM known UNION ALL SELECT number FROM added";

/// Begins the deliveries of message $1 with numbers $2 to the recipients $3 that are in the states $4 and were begun $5 times,
/// for $6 milliseconds. Returns their numbers. $7 is the id of this beginning. Late: they were begun more often. Twice: it
/// returns the same numbers. If the first one has not committed yet, it waits for that.
pub(super) const BEGIN_DELIVERIES: &str = "
    WITH free AS (
        SELECT delivery.number
        FROM unnest($2::bigint[], $3::bytea[], $4::text[], $5::bigint[]) AS sought (number, recipient, state, attempts)
        JOIN waitlist_deliveries AS delivery
            ON delivery.message = $1::text AND delivery.number = sought.number AND delivery.recipient = sought.recipient
        WHERE CASE
            WHEN delivery.state <> 'sending'
                THEN delivery.state = sought.state AND delivery.attempts = sought.attempts
            WHEN delivery.begun_by = $7::uuid THEN delivery.attempts = sought.attempts + 1
            ELSE delivery.leased_until < now() AND sought.state = 'unknown' AND delivery.attempts = sought.attempts
        END
        ORDER BY delivery.number
        FOR UPDATE OF delivery
    )
    UPDATE waitlist_deliveries AS delivery SET
        state = 'sending', since = NULL, code = NULL, reply = NULL,
        attempts = attempts + CASE WHEN begun_by = $7::uuid THEN 0 ELSE 1 END,
        begun_by = $7::uuid,
        leased_until = now() + $6::bigint * interval '1 millisecond'
    FROM free
    WHERE delivery.message = $1::text AND delivery.number = free.number
    RETURNING delivery.number";

/// Sets the states $5 of the deliveries of message $1 with numbers $2 to the recipients $3, the times since when, $6, and
/// the replies of the server, $7 and $8. Returns their numbers. $4 are the numbers of the attempts. Late: they were begun
/// again, or have another result. Twice: it does the same.
pub(super) const FINISH_DELIVERIES: &str = "
    UPDATE waitlist_deliveries AS delivery SET
        state = result.state, since = result.since, code = result.code, reply = result.reply
    FROM unnest($2::bigint[], $3::bytea[], $4::bigint[], $5::text[], $6::timestamptz[], $7::bigint[], $8::text[])
        AS result (number, recipient, attempt, state, since, code, reply)
    WHERE delivery.message = $1::text AND delivery.number = result.number AND delivery.recipient = result.recipient
        AND delivery.attempts = result.attempt
        AND (delivery.state IN ('sending', 'unknown') OR delivery.state = result.state
            OR delivery.state IN ('waiting', 'deferred') AND result.state = 'skipped')
    RETURNING delivery.number";
