/**
 * Programs that say what is wrong in a network from the headers that its hosts kept (Confluo,
 * NSDI'19 §2.2 and §5.2).
 */
package io.tapline.control.diagnose;
