/**
 * Compares the packets that switches report as copied with those that monitors report as received.
 */
package io.tapline.control.accounting;
