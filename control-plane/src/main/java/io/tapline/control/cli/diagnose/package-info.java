/** Commands that diagnose network faults, and drawings of their findings. */
package io.tapline.control.cli.diagnose;
