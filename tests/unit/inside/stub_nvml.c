/* The stub NVML: what `siflab.inside.usage_nvml` and pynvml call of libnvidia-ml.so.1, answered from the file that
 * $STUB_NVML names, which is read at each call. No driver is needed, and none is seen by it. A line of that file:
 *   gpu UUID NAME TOTAL USED UTIL TEMPERATURE MILLIWATTS REASONS PID PIDMEMORY   (PID 0: no process)
 *   denied                                                                       (a GPU of somebody else's)
 *   mig CARD UUID NAME TOTAL USED                                                (a slice of that card)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { int kind, card; char uuid[96], name[96]; unsigned long long total, used, reasons, own; unsigned util, temp, power, pid; } Device;
typedef struct { unsigned pid; unsigned long long memory; unsigned gi, ci; } Process;
enum { CARD = 1, DENIED, SLICE };
static Device devices[64];
static int count;

static void load(void) {
  char line[512];
  const char *path = getenv("STUB_NVML");
  FILE *file = path ? fopen(path, "r") : NULL;
  count = 0;
  if (!file) return;
  while (count < 64 && fgets(line, sizeof line, file)) {
    Device *d = &devices[count];
    memset(d, 0, sizeof *d);
    if (sscanf(line, "gpu %95s %95s %llu %llu %u %u %u %llu %u %llu", d->uuid, d->name, &d->total, &d->used, &d->util,
               &d->temp, &d->power, &d->reasons, &d->pid, &d->own) == 10) d->kind = CARD;
    else if (sscanf(line, "mig %d %95s %95s %llu %llu", &d->card, d->uuid, d->name, &d->total, &d->used) == 5) d->kind = SLICE;
    else if (!strncmp(line, "denied", 6)) d->kind = DENIED;
    else continue;
    count++;
  }
  fclose(file);
}

static Device *nth(int kind, int card, unsigned index) {
  for (int i = 0; i < count; i++) {
    int fits = kind == SLICE ? devices[i].kind == SLICE && devices[i].card == card : devices[i].kind != SLICE;
    if (fits && index-- == 0) return &devices[i];
  }
  return NULL;
}

static int card_of(Device *wanted) {
  int number = 0;
  for (int i = 0; i < count; i++)
    if (devices[i].kind != SLICE) { if (&devices[i] == wanted) return number; number++; }
  return -1;
}

int nvmlInit_v2(void) { load(); return getenv("STUB_NVML") ? 0 : 9; }
int nvmlInitWithFlags(unsigned flags) { (void)flags; return nvmlInit_v2(); }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { load(); *n = 0; while (nth(CARD, 0, *n)) (*n)++; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, Device **d) { *d = nth(CARD, 0, i); return !*d ? 2 : (*d)->kind == DENIED ? 4 : 0; }
int nvmlDeviceGetMaxMigDeviceCount(Device *d, unsigned *n) { *n = 0; while (nth(SLICE, card_of(d), *n)) (*n)++; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(Device *d, unsigned i, Device **s) { *s = nth(SLICE, card_of(d), i); return *s ? 0 : 6; }
int nvmlDeviceGetUUID(Device *d, char *text, unsigned size) { snprintf(text, size, "%s", d->uuid); return 0; }
int nvmlDeviceGetName(Device *d, char *text, unsigned size) { snprintf(text, size, "%s", d->name); return 0; }
int nvmlDeviceGetUtilizationRates(Device *d, unsigned *rates) {
  load();
  if (d->kind == SLICE) return 3;
  rates[0] = d->util; rates[1] = 0;
  return 0;
}
int nvmlDeviceGetMemoryInfo(Device *d, unsigned long long *m) { m[0] = d->total; m[1] = d->total - d->used; m[2] = d->used; return 0; }
int nvmlDeviceGetTemperature(Device *d, int sensor, unsigned *t) { *t = d->temp; return sensor; }
int nvmlDeviceGetPowerUsage(Device *d, unsigned *p) { *p = d->power; return d->power ? 0 : 3; }
int nvmlDeviceGetCurrentClocksThrottleReasons(Device *d, unsigned long long *r) { *r = d->reasons; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(Device *d, unsigned *n, Process *found) {
  unsigned there = d->pid ? 1 : 0, room = *n;
  *n = there;
  if (there > room) return 7;
  if (there) { found[0].pid = d->pid; found[0].memory = d->own; }
  return 0;
}
