/* ranks/lease_words.h: the sentence on a lease that was taken over from another rank. It is in the recording
 * of the rank that took it, where the audit of samples looks for it (report/audit). */
#pragma once

/* shard, epoch (unsigned long long), the rank that had it, what became of that rank */
#define PP_LEASE_STOLEN_FORMAT "shard %llu of epoch %llu is read again: %s %s"
/* The first three again, as sscanf reads them; 96 bytes for the rank. */
#define PP_LEASE_STOLEN_SCAN "shard %llu of epoch %llu is read again: %95s"
