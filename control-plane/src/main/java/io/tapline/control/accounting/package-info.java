/** What switches say that they copied, held against what monitors say that they got. */
package io.tapline.control.accounting;
