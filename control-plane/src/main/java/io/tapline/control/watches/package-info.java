/** Runs watches in monitors, as triggers of queries. */
package io.tapline.control.watches;
