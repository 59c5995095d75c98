/**
 * Conditions on rows, as trees ({@code schema/condition.proto}): their limits, text and evaluation.
 * The C++ twin is the folder conditions/; a test compares the two.
 */
package io.tapline.conditions;
