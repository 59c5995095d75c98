package io.tapline.network.rules;

import java.util.SortedSet;

/**
 * One flow of the mirror table. It copies matching packets to monitors, then passes the packets on
 * to forwarding.
 *
 * @param monitors may be empty, to override a less specific rule
 * @param owners the queries that need the rule
 */
public record MirrorRule(
    int priority, RuleMatch match, SortedSet<String> monitors, SortedSet<String> owners) {}
