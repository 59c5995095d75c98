/** Diagnoses network faults from the headers that hosts stored (Confluo, NSDI'19 §2.2 and §5.2). */
package io.tapline.control.diagnose;
