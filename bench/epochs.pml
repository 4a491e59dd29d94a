/*
 * The same world that `conclave explore --protocol epochs` searches, written for Spin, so that their states can be
 * counted against each other: N nodes, E epochs, B ballots, crashes anywhere, reads in any order, the counter on disk
 * before it is in memory, jumps over epochs. Ids are 1 to N, 0 is none. bench/epochs.mjs runs it.
 */
#define NEED (N - 1)
#define R(i, j) (i) * N + (j)

#define SUSPENDED 0
#define PARTICIPANT 1
#define PREVIOUS 2
#define LEADER 3
#define DEAD 4

/* On disk. */
byte dctr[N], dpbal[N], dbal[N], dval[N];

/* In memory. pending: 1 a tick is on disk only, 2 that of a leader. */
byte status[N], pending[N], ctr[N], phase[N], written[N], learned[N];
byte has[N * N], rctr[N * N], rpbal[N * N], rbal[N * N], rval[N * N];

/* History: who led each epoch, and what the first that completed it ended with. */
byte leader[E + 1], outcome[E + 1];

/* No part of the state. */
hidden byte k, x, y, higher, rival, count;

inline forget(i) {
  k = 0;
  do
  :: k < N -> has[R(i, k)] = 0; rctr[R(i, k)] = 0; rpbal[R(i, k)] = 0; rbal[R(i, k)] = 0; rval[R(i, k)] = 0; k++
  :: else -> break
  od;
  k = 0
}

inline suspend(i, who) {
  status[i] = SUSPENDED; phase[i] = 0; written[i] = 0; learned[i] = who; forget(i)
}

inline complete(i) {
  assert(outcome[ctr[i]] == 0 || outcome[ctr[i]] == dval[i]);
  outcome[ctr[i]] = dval[i];
  if
  :: dval[i] == i + 1 ->
    assert(leader[ctr[i]] == 0 || leader[ctr[i]] == i + 1);
    leader[ctr[i]] = i + 1; status[i] = LEADER; learned[i] = i + 1; forget(i)
  :: else -> x = dval[i]; suspend(i, x)
  fi
}

inline evaluate(i) {
  higher = 0; rival = 0; k = 0;
  do
  :: k < N ->
    if
    :: has[R(i, k)] && rctr[R(i, k)] > ctr[i] -> higher = 1
    :: has[R(i, k)] && rctr[R(i, k)] == ctr[i] && (rpbal[R(i, k)] > dpbal[i] || (rpbal[R(i, k)] == dpbal[i] && k > i)) -> rival = 1
    :: else
    fi;
    k++
  :: else -> break
  od;
  if
  :: higher -> suspend(i, 0)
  :: else ->
    if
    :: phase[i] == 0 -> phase[i] = 1; written[i] = 0
    :: else ->
      if
      :: rival -> status[i] = PARTICIPANT; phase[i] = 1; written[i] = 0
      :: else ->
        if
        :: phase[i] == 1 -> phase[i] = 2; written[i] = 0
        :: else -> complete(i)
        fi
      fi
    fi
  fi
}

/* The ballot that a write of phase 1 would use, in x. */
inline ballot(i) {
  x = dpbal[i]; k = 0;
  do
  :: k < N ->
    if
    :: has[R(i, k)] && rpbal[R(i, k)] > x -> x = rpbal[R(i, k)]
    :: else
    fi;
    k++
  :: else -> break
  od;
  x++
}

/* The vote with the greatest (bal, id) of this epoch, in x; its ballot, plus one, in y. */
inline vote(i) {
  x = i + 1; y = 0; k = 0;
  do
  :: k < N ->
    if
    :: k == i && dval[i] != 0 && dbal[i] + 1 >= y -> y = dbal[i] + 1; x = dval[i]
    :: k != i && has[R(i, k)] && rctr[R(i, k)] == ctr[i] && rval[R(i, k)] != 0 && rbal[R(i, k)] + 1 >= y -> y = rbal[R(i, k)] + 1; x = rval[R(i, k)]
    :: else
    fi;
    k++
  :: else -> break
  od;
  k = 0
}

#define RUNS(i) ((status[i] == PARTICIPANT || status[i] == PREVIOUS) && !pending[i])

#define TICK(i, to) \
  :: d_step { status[i] != DEAD && !pending[i] && to > ctr[i] -> \
    if \
    :: status[i] == LEADER && to == ctr[i] + 1 -> pending[i] = 2 \
    :: else -> pending[i] = 1; dbal[i] = 0; dval[i] = 0 \
    fi; \
    dctr[i] = to }

#define READ(i, j) \
  :: d_step { RUNS(i) && (phase[i] == 0 || written[i]) && !has[R(i, j)] -> \
    has[R(i, j)] = 1; rctr[R(i, j)] = dctr[j]; rpbal[R(i, j)] = dpbal[j]; rbal[R(i, j)] = dbal[j]; rval[R(i, j)] = dval[j]; \
    count = 0; k = 0; \
    do :: k < N -> count = count + has[R(i, k)]; k++ :: else -> break od; \
    if :: count == NEED -> evaluate(i) :: else fi; \
    k = 0 }

#define NODE(i) \
  :: d_step { pending[i] -> \
    ctr[i] = dctr[i]; learned[i] = 0; forget(i); \
    if \
    :: pending[i] == 2 -> status[i] = PREVIOUS; phase[i] = 2; written[i] = 1 \
    :: else -> status[i] = PARTICIPANT; phase[i] = 0; written[i] = 0 \
    fi; \
    pending[i] = 0 } \
  :: d_step { RUNS(i) && phase[i] == 1 && !written[i] -> \
    ballot(i); \
    if :: x <= B -> dpbal[i] = x; written[i] = 1; forget(i) :: else fi; \
    k = 0 } \
  :: d_step { RUNS(i) && phase[i] == 2 && !written[i] -> \
    vote(i); dval[i] = x; dbal[i] = dpbal[i]; written[i] = 1; forget(i) } \
  :: d_step { status[i] != DEAD -> \
    suspend(i, 0); status[i] = DEAD; ctr[i] = 0; pending[i] = 0 } \
  :: d_step { status[i] == DEAD -> status[i] = SUSPENDED; ctr[i] = dctr[i] } \
  TICK(i, 1) \
  TICKS2(i) \
  TICKS3(i)

#if E >= 2
#define TICKS2(i) TICK(i, 2)
#else
#define TICKS2(i)
#endif
#if E >= 3
#define TICKS3(i) TICK(i, 3)
#else
#define TICKS3(i)
#endif

active proctype world() {
  do
  NODE(0)
  NODE(1)
  READ(0, 1)
  READ(1, 0)
#if N == 3
  NODE(2)
  READ(0, 2)
  READ(1, 2)
  READ(2, 0)
  READ(2, 1)
#endif
  od
}
