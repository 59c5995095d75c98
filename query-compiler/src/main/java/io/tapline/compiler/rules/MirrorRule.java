package io.tapline.compiler.rules;

import java.util.SortedSet;

/**
 * One flow of the mirror table: copies matching packets to monitors, then hands them to forwarding.
 *
 * @param monitors may be empty: then only a less specific rule is overruled
 * @param owners the queries that it is there for
 */
public record MirrorRule(
    int priority, RuleMatch match, SortedSet<String> monitors, SortedSet<String> owners) {}
