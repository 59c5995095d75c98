/**
 * {@code tapline bench}: comparisons with baselines in the same run. Not a part of the product:
 * only a clone has it.
 */
package io.tapline.bench;
