/* limits.h - holds each timed row to the least time that its device needs for the bytes that any correct variant moves. */
#ifndef RUNGS_PIPELINE_LIMITS_H
#define RUNGS_PIPELINE_LIMITS_H

#include "pipeline/session.h"

/* The limits of a run: measured by workers of its own when the first row asks, and shared by the rows of a case. */
typedef struct Limits Limits;

Status limits_open(int device, Limits **out);
/* May be NULL. */
void limits_close(Limits *limits);

/* Gives each timed mode of the row its rates and its limit; why there is none goes into `limit_reason`. False if a median beats
 * its limit (measure/limit.h), and those of three measurements after that: then `reason` names the mode, both times and the bytes.
 * limits: NULL if the run measures none. */
bool limits_hold(Limits *limits, Instance *instance, const Session *session, int bound, Row *row, char reason[512]);

#endif
