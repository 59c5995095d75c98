/** Mirror tables as flows, and the interface for other controllers. */
package io.tapline.sdn.mirror;
