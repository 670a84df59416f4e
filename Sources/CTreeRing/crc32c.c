// CRC-32C. The processor's instruction takes three cycles, and one can start in each cycle. So three
// chains are computed in parallel. Tables, built once, combine them: they multiply a checksum by
// x^(8n) modulo the polynomial.
#include "CTreeRing.h"

#include <pthread.h>
#include <string.h>

#if defined(__aarch64__)
#include <arm_acle.h>
#if defined(__linux__)
#include <sys/auxv.h>
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif
#endif
#endif

#define POLYNOMIAL 0x82F63B78u
#define LONG_BLOCK 4096
#define SHORT_BLOCK 256

static uint32_t byteTables[8][256];
static uint32_t longShift[4][256];
static uint32_t shortShift[4][256];
static int hasInstruction;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// The state after `count` zero bytes.
static uint32_t afterZeros(uint32_t crc, size_t count) {
  while (count--) crc = (crc >> 8) ^ byteTables[0][crc & 0xFF];
  return crc;
}

static void buildShift(uint32_t table[4][256], size_t count) {
  uint32_t bit[32];
  for (int i = 0; i < 32; i++) bit[i] = afterZeros(1u << i, count);
  for (int k = 0; k < 4; k++) {
    for (uint32_t value = 0; value < 256; value++) {
      uint32_t sum = 0;
      for (int i = 0; i < 8; i++) {
        if (value >> i & 1) sum ^= bit[8 * k + i];
      }
      table[k][value] = sum;
    }
  }
}

static void prepare(void) {
  for (uint32_t value = 0; value < 256; value++) {
    uint32_t crc = value;
    for (int i = 0; i < 8; i++) crc = (crc >> 1) ^ (POLYNOMIAL & -(crc & 1));
    byteTables[0][value] = crc;
  }
  for (uint32_t value = 0; value < 256; value++) {
    for (int k = 1; k < 8; k++) {
      uint32_t before = byteTables[k - 1][value];
      byteTables[k][value] = (before >> 8) ^ byteTables[0][before & 0xFF];
    }
  }
  buildShift(longShift, LONG_BLOCK);
  buildShift(shortShift, SHORT_BLOCK);
#if defined(__x86_64__)
  __builtin_cpu_init();
  hasInstruction = __builtin_cpu_supports("sse4.2") != 0;
#elif defined(__aarch64__) && defined(__APPLE__)
  hasInstruction = 1;
#elif defined(__aarch64__) && defined(__linux__)
  hasInstruction = (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#endif
}

static uint64_t load64(const uint8_t *p) {
  uint64_t word;
  memcpy(&word, p, 8);
  return word;
}

static uint32_t software(uint32_t crc, const uint8_t *p, size_t count) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  for (; count >= 8; p += 8, count -= 8) {
    uint64_t word = load64(p) ^ crc;
    crc = byteTables[7][word & 0xFF] ^ byteTables[6][word >> 8 & 0xFF] ^
          byteTables[5][word >> 16 & 0xFF] ^ byteTables[4][word >> 24 & 0xFF] ^
          byteTables[3][word >> 32 & 0xFF] ^ byteTables[2][word >> 40 & 0xFF] ^
          byteTables[1][word >> 48 & 0xFF] ^ byteTables[0][word >> 56];
  }
#endif
  while (count--) crc = (crc >> 8) ^ byteTables[0][(crc ^ *p++) & 0xFF];
  return crc;
}

#if defined(__x86_64__)
#define HARDWARE __attribute__((target("sse4.2"), noinline))
#define STEP64(crc, word) ((uint32_t)__builtin_ia32_crc32di((crc), (word)))
#define STEP8(crc, byte) __builtin_ia32_crc32qi((crc), (byte))
#elif defined(__aarch64__)
#define HARDWARE __attribute__((target("crc"), noinline))
#define STEP64(crc, word) __crc32cd((crc), (word))
#define STEP8(crc, byte) __crc32cb((crc), (byte))
#endif

#ifdef HARDWARE
static uint32_t shift(const uint32_t table[4][256], uint32_t crc) {
  return table[0][crc & 0xFF] ^ table[1][crc >> 8 & 0xFF] ^ table[2][crc >> 16 & 0xFF] ^
         table[3][crc >> 24];
}

HARDWARE static uint32_t threeBlocks(
    uint32_t crc, const uint8_t *p, size_t block, const uint32_t table[4][256]) {
  uint32_t second = 0, third = 0;
  for (size_t i = 0; i < block; i += 8) {
    crc = STEP64(crc, load64(p + i));
    second = STEP64(second, load64(p + block + i));
    third = STEP64(third, load64(p + 2 * block + i));
  }
  crc = shift(table, crc) ^ second;
  return shift(table, crc) ^ third;
}

HARDWARE static uint32_t hardware(uint32_t crc, const uint8_t *p, size_t count) {
  for (; count >= 3 * LONG_BLOCK; p += 3 * LONG_BLOCK, count -= 3 * LONG_BLOCK)
    crc = threeBlocks(crc, p, LONG_BLOCK, longShift);
  for (; count >= 3 * SHORT_BLOCK; p += 3 * SHORT_BLOCK, count -= 3 * SHORT_BLOCK)
    crc = threeBlocks(crc, p, SHORT_BLOCK, shortShift);
  for (; count >= 8; p += 8, count -= 8) crc = STEP64(crc, load64(p));
  while (count--) crc = STEP8(crc, *p++);
  return crc;
}
#endif

uint32_t treering_crc32c(uint32_t seed, const void *bytes, size_t count) {
  pthread_once(&once, prepare);
#ifdef HARDWARE
  if (hasInstruction) return ~hardware(~seed, bytes, count);
#endif
  return ~software(~seed, bytes, count);
}

uint32_t treering_crc32c_software(uint32_t seed, const void *bytes, size_t count) {
  pthread_once(&once, prepare);
  return ~software(~seed, bytes, count);
}
