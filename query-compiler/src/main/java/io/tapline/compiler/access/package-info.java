/**
 * Rights: the traffic that a caller may query, and the strings and alerts that may leave the
 * network.
 */
package io.tapline.compiler.access;
