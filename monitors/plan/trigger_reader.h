// Reads a plan's triggers that the monitor tests on packets.
#pragma once

#include "monitors/plan/query_spec.h"
#include "packet_io/base/status.h"
#include "parsers/trigger/trigger.h"
#include "schema/plan.pb.h"

namespace tapline {

// Sets spec->triggers. Errors are kInvalid and name the trigger. REQUIRES: spec->parsers is set.
Status read_triggers(const v1::Plan& plan, QuerySpec* spec);

// Reads a condition. `operands` is the number of values of tuples that it may name; 0: a condition on packets.
Status read_steps(const google::protobuf::RepeatedPtrField<v1::ConditionStep>& steps, uint32_t operands,
                  trigger::Expression* expression);

// Reads one trigger. Errors are kInvalid and name the trigger.
Status read_trigger(const v1::PacketTrigger& message, trigger::Trigger* trigger);

// Fails if the query has triggers and several workers would share its packets. Workers can be any packet time apart,
// for example if a capture file is read at full speed; lanes are at most milliseconds apart.
Status check_triggers(const QuerySpec& spec, const ThreadLayout& layout);

// Sets spec->shared_triggers if the query has triggers. REQUIRES: the query has not been added to the lanes yet.
void share_triggers(uint32_t lanes, QuerySpec* spec);

}  // namespace tapline
