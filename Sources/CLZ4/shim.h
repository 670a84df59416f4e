// LZ4 comes from the system's liblz4; this header only chooses which parts of it Swift sees.
#define LZ4F_STATIC_LINKING_ONLY
#include <lz4.h>
#include <lz4frame.h>
