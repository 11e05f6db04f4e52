/* c_kernel.h -- what the text of a kernel says before it is compiled. */
#ifndef C_KERNEL_H
#define C_KERNEL_H

/* c_kernel_parameters -- the number of parameters of the first __global__ function of this name; -1: there is
 * none. Preprocessor lines are not followed. */
int c_kernel_parameters(const char *text, const char *name);

#endif
