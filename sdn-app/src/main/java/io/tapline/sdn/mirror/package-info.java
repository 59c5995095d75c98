/** Mirror tables as flows, and the interface to other controllers. */
package io.tapline.sdn.mirror;
