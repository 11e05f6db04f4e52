/* c_name.h -- a template's name as an identifier in generated C. */
#ifndef BASE_C_NAME_H
#define BASE_C_NAME_H

enum { C_NAME = 72 };
/* c_name -- words that C or C++ reserves, or that generated functions use, get an underscore */
void c_name(const char *name, char out[C_NAME]);

#endif
