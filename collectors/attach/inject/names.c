#include "collectors/attach/inject/inject.h"

#include "probe/base/rng.h"
#include "probe/base/utf8.h"

#include <ctype.h>
#include <pipeprobe/ring.h>

#define TEXT_BYTES 256   /* a longer text is cut before anything looks at it */
#define CACHE_SLOTS 4096 /* power of two; at most half of them are used */
#define DOMAINS_MAX 256

/* ---- domains ---- */

static struct domain {
    char name[64];
} domains[DOMAINS_MAX];        /* 0 is the default domain; a name is written before the number is given out */
static unsigned n_domains = 1; /* under the lock */

static int is_own_domain(const void *handle)
{
    return (const char *)handle >= (const char *)domains &&
           (const char *)handle < (const char *)(domains + DOMAINS_MAX);
}

/* A domain created again is the same one; beyond DOMAINS_MAX events count for the default domain. */
void *inject_domain_create(const char *name, void *next)
{
    unsigned i = 1;
    inject_lock();
    while (i < n_domains && strncmp(domains[i].name, name ? name : "", sizeof(domains[i].name) - 1) != 0)
        i++;
    if (i == n_domains && n_domains < DOMAINS_MAX)
        snprintf(domains[n_domains++].name, sizeof(domains[0].name), "%s", name ? name : "");
    else if (i == n_domains)
        i = 0;
    if (next && !inject_handle_put(next, i))
        INJECT_COUNT(unnamed);
    inject_unlock();
    return next ? next : &domains[i];
}

unsigned inject_domain_number(const void *handle)
{
    if (!handle)
        return 0;
    return is_own_domain(handle) ? (unsigned)((const struct domain *)handle - domains)
                                 : (unsigned)inject_handle_get(handle) % DOMAINS_MAX;
}

/* ---- labels as numbers: what the cache keeps and what a registered string's handle holds ---- */

/* No pointer of the client's or of another tool has the highest bit: that half of the address space is the
 * kernel's. */
#define LABEL_TAG (1ull << 63)

static uint64_t pack(struct label l)
{
    return LABEL_TAG | (uint64_t)(l.of_process != 0) << 24 | (uint64_t)l.phase << 16 | l.name;
}

/* A client may hand in what no registration returned. */
static struct label unpack(uint64_t v)
{
    struct label l = {.name = (uint16_t)v, .phase = (uint8_t)(v >> 16), .of_process = v >> 24 & 1};
    int ours = l.name < PP_NAMES_MAX && pp_phase_info(l.phase) && v >> 25 == LABEL_TAG >> 25;
    return ours ? l : (struct label){.phase = PP_PHASE_USER};
}

void *inject_handle_for_next(void *handle)
{
    return (uintptr_t)handle & LABEL_TAG || is_own_domain(handle) ? NULL : handle;
}

/* ---- the cache: hash of (domain, text) -> label, read without a lock ---- */

/* The hash stands for the text. Among the 2,048 texts the cache can hold two that share one of 2^64 hashes
 * are not to be expected (1e-13). */
static struct {
    uint64_t hash, label; /* hash 0: free; the label is written first */
} cache[CACHE_SLOTS];
static unsigned cached; /* under the lock */

static uint64_t hash_of(unsigned domain, const char *text, size_t n)
{
    uint64_t h = pp_mix64(0x9e3779b97f4a7c15u * (n + 1) + domain), word;
    for (; n >= sizeof(word); n -= sizeof(word), text += sizeof(word)) {
        memcpy(&word, text, sizeof(word));
        h = pp_mix64(h ^ word);
    }
    word = 0;
    memcpy(&word, text, n);
    h = pp_mix64(h ^ word);
    return h ? h : 1;
}

static int cache_get(uint64_t hash, struct label *out)
{
    for (unsigned i = (unsigned)hash % CACHE_SLOTS;; i = (i + 1) % CACHE_SLOTS) {
        uint64_t is = __atomic_load_n(&cache[i].hash,
                                      __ATOMIC_ACQUIRE); /* pairs with the release in cache_put */
        if (is == hash)
            *out = unpack(cache[i].label);
        if (is == hash || !is)
            return is != 0;
    }
}

/* ---- texts -> labels ---- */

/* Programs put counts into names ("iteration 17"). Once half of the session's names are used up, a new name
 * is kept with '#' for each number, so that a million of them become one. */
static int folding; /* atomic */

/* text is as the program wrote it, shown as it is kept. */
static struct label intern(unsigned domain, const char *text, const char *shown, uint64_t hash)
{
    char whole[TEXT_BYTES + sizeof(domains[0].name) + 1], name[PP_NAME_BYTES];
    struct label l;
    int saved_errno = errno, of_process;
    inject_lock();
    if (!cache_get(hash, &l)) {
        /* As nsys writes it: DOMAIN:NAME, NAME in the default domain. Cut at the end of a UTF-8 character to
         * what the session keeps. */
        snprintf(whole, sizeof(whole), "%s%s%s", domains[domain].name, domain ? ":" : "", shown);
        pp_utf8_copy(name, sizeof(name), whole);
        pp_phase phase = pp_namemap_find(inject_process.map, domains[domain].name, text, &of_process);
        l = (struct label){.phase = (uint8_t)phase,
                           .of_process = (uint8_t)of_process,
                           .name = pp_name_intern(inject_process.session, name)};
        if (l.name >= PP_NAMES_MAX / 2)
            __atomic_store_n(&folding, 1, __ATOMIC_RELAXED);
        if (!l.name)
            INJECT_COUNT(unnamed);
        unsigned i = (unsigned)hash % CACHE_SLOTS;
        if (cached != CACHE_SLOTS / 2) {
            while (cache[i].hash)
                i = (i + 1) % CACHE_SLOTS;
            cache[i].label = pack(l);
            /* pairs with the acquire in cache_get */
            __atomic_store_n(&cache[i].hash, hash, __ATOMIC_RELEASE);
            cached++;
        }
    }
    inject_unlock();
    errno = saved_errno;
    return l;
}

/* domain: a number of pp_domain_number. text may be NULL (no message). Calls from one thread of enter() and
 * leave(). */
static struct label label_of(unsigned domain, const char *text)
{
    char cut[TEXT_BYTES], folded[TEXT_BYTES];
    struct label l = {.phase = PP_PHASE_USER};
    if (!text || !*text)
        return l;
    size_t n = strnlen(text, TEXT_BYTES - 1);
    uint64_t hash = hash_of(domain, text, n);
    if (cache_get(hash, &l))
        return l;
    memcpy(cut, text, n);
    cut[n] = '\0';
    if (!__atomic_load_n(&folding, __ATOMIC_RELAXED))
        return intern(domain, cut, cut, hash);
    n = 0;
    for (const char *c = cut; *c; c++) {
        int digit = isdigit((unsigned char)*c);
        if (!digit || c == cut || !isdigit((unsigned char)c[-1]))
            folded[n++] = digit ? '#' : *c;
    }
    folded[n] = '\0';
    hash = hash_of(domain, folded, n);
    return cache_get(hash, &l) ? l : intern(domain, cut, folded, hash);
}

const char *inject_utf8(const wchar_t *text, char *out, size_t size)
{
    size_t n = 0;
    for (; text && *text && n + 4 < size; text++) {
        uint32_t c = (uint32_t)*text;
        if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
            c = 0xfffd;
        n += pp_utf8_put(c, out + n);
    }
    out[n] = '\0';
    return out;
}

/* ---- registered strings ---- */

void *inject_string_register(unsigned domain, const char *text, void *next)
{
    uint64_t packed = pack(label_of(domain, text));
    if (!next)
        return (void *)(uintptr_t)packed;
    inject_lock();
    if (!inject_handle_put(next, packed))
        INJECT_COUNT(unnamed);
    inject_unlock();
    return next;
}

struct label inject_label_of(unsigned domain, const struct nvtx_attributes *a, const char *text,
                             const wchar_t *wide)
{
    char utf8[TEXT_BYTES];
    if (a) {
        int type = a->size >= sizeof(*a) ? (int)a->message_type : NVTX_MESSAGE_NONE;
        text = type == NVTX_MESSAGE_ASCII ? a->message.ascii : NULL;
        wide = type == NVTX_MESSAGE_WIDE ? a->message.wide : NULL;
        if (type == NVTX_MESSAGE_REGISTERED) {
            uint64_t handle = (uintptr_t)a->message.registered;
            return unpack(handle & LABEL_TAG ? handle : inject_handle_get(a->message.registered));
        }
        if (!text && !wide)
            return (struct label){.phase = PP_PHASE_USER};
    }
    if (text)
        return label_of(domain, text);
    return label_of(domain, inject_utf8(wide, utf8, sizeof(utf8)));
}
