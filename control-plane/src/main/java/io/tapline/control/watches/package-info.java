/** Runs watches in monitors, each as a query with a trigger. */
package io.tapline.control.watches;
