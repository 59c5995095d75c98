/**
 * {@code tapline bench}: comparisons with baselines in the same run. Available only in a clone of
 * the repository, not in the packages.
 */
package io.tapline.bench;
