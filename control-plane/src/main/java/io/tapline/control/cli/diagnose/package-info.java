/** Commands that diagnose network faults, and drawings of what they find. */
package io.tapline.control.cli.diagnose;
