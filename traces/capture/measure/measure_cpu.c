/* measure-cpu: times pre- and post-processing of images on the host's threads. It needs no GPU.
 *
 *   measure-cpu [THREADS] >cpu.csv
 *
 * Prints one line of CSV per sample: task, threads, items, width, height, sample, ms. Tasks are
 * "decode" (JPEG), "resize" (to a network's input), "normalise" (bytes to planes of floats), "all"
 * (these three in sequence) and "post" (best five of 1000). `items` images of width x height are
 * distributed over 1, 2, … THREADS (8) threads. ms is the time until the last thread ends.
 */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef HAVE_JPEG
#include <jpeglib.h>

enum { SIDE = 224, CHANNELS = 3, CLASSES = 1000, QUALITY = 85, WIDTH = 1280, HEIGHT = 720 };
enum { TASKS = 5, ITEMS = 32, SAMPLES = 5, THREADS = 8, THREADS_MOST = 64 };

struct work {
    const unsigned char *jpeg; /* shared */
    unsigned long jpeg_bytes;
    const unsigned char *source; /* shared; decoded image */
    const float *scores;         /* shared */
    size_t task;
    int items;
    unsigned char *pixels; /* per thread */
    unsigned char *small;  /* per thread */
    float *planes;         /* per thread */
    double sum;            /* prevents the compiler from removing the work */
};

static void decode(struct work *w)
{
    struct jpeg_decompress_struct decoder;
    struct jpeg_error_mgr faults;
    decoder.err = jpeg_std_error(&faults);
    jpeg_create_decompress(&decoder);
    jpeg_mem_src(&decoder, w->jpeg, w->jpeg_bytes);
    (void)jpeg_read_header(&decoder, TRUE);
    (void)jpeg_start_decompress(&decoder);
    while (decoder.output_scanline < decoder.output_height) {
        JSAMPROW row = w->pixels + (size_t)decoder.output_scanline * WIDTH * CHANNELS;
        (void)jpeg_read_scanlines(&decoder, &row, 1);
    }
    (void)jpeg_finish_decompress(&decoder);
    jpeg_destroy_decompress(&decoder);
}

/* Bilinear interpolation, half-pixel centres. */
static void resize(const unsigned char *from, unsigned char *to)
{
    for (int y = 0; y < SIDE; y++) {
        const float at_y = fmaxf(0, ((float)y + 0.5F) * HEIGHT / SIDE - 0.5F);
        const int y0 = (int)at_y;
        const int y1 = y0 + (y0 < HEIGHT - 1);
        for (int x = 0; x < SIDE; x++) {
            const float at_x = fmaxf(0, ((float)x + 0.5F) * WIDTH / SIDE - 0.5F);
            const int x0 = (int)at_x;
            const int x1 = x0 + (x0 < WIDTH - 1);
            const float fx = at_x - (float)x0;
            const float fy = at_y - (float)y0;
            for (int c = 0; c < CHANNELS; c++) {
                const float a = from[(y0 * WIDTH + x0) * CHANNELS + c];
                const float b = from[(y0 * WIDTH + x1) * CHANNELS + c];
                const float d = from[(y1 * WIDTH + x0) * CHANNELS + c];
                const float e = from[(y1 * WIDTH + x1) * CHANNELS + c];
                const float value =
                    (a * (1 - fx) + b * fx) * (1 - fy) + (d * (1 - fx) + e * fx) * fy;
                to[(y * SIDE + x) * CHANNELS + c] = (unsigned char)(value + 0.5F);
            }
        }
    }
}

/* Interleaved bytes to planes of floats, with ImageNet's means and deviations. */
static void normalise(const unsigned char *from, float *to)
{
    static const float mean[CHANNELS] = {0.485F, 0.456F, 0.406F};
    static const float deviation[CHANNELS] = {0.229F, 0.224F, 0.225F};
    for (int c = 0; c < CHANNELS; c++)
        for (int i = 0; i < SIDE * SIDE; i++)
            to[c * SIDE * SIDE + i] =
                ((float)from[i * CHANNELS + c] / 255.0F - mean[c]) / deviation[c];
}

/* Softmax, then the five best. */
static void post(struct work *w)
{
    float most = w->scores[0];
    double sum = 0;
    int best[5] = {0, 0, 0, 0, 0};
    for (int i = 1; i < CLASSES; i++)
        most = fmaxf(most, w->scores[i]);
    for (int i = 0; i < CLASSES; i++)
        sum += exp((double)(w->scores[i] - most));
    for (int i = 0; i < CLASSES; i++)
        for (int k = 0; k < 5; k++)
            if (w->scores[i] > w->scores[best[k]]) {
                memmove(&best[k + 1], &best[k], sizeof best[0] * (size_t)(4 - k));
                best[k] = i;
                break;
            }
    w->sum += exp((double)(w->scores[best[0]] - most)) / sum;
}

static void *work_items(void *argument)
{
    struct work *w = argument;
    for (int i = 0; i < w->items; i++) {
        if (w->task == 0 || w->task == 3)
            decode(w);
        if (w->task == 1 || w->task == 3)
            resize(w->task == 3 ? w->pixels : w->source, w->small);
        if (w->task == 2 || w->task == 3)
            normalise(w->small, w->planes);
        if (w->task == 4)
            post(w);
        w->sum += (double)w->planes[i % SIDE];
    }
    return NULL;
}

static unsigned long encode(const unsigned char *pixels, unsigned char **jpeg)
{
    struct jpeg_compress_struct encoder;
    struct jpeg_error_mgr faults;
    unsigned long bytes = 0;
    encoder.err = jpeg_std_error(&faults);
    jpeg_create_compress(&encoder);
    jpeg_mem_dest(&encoder, jpeg, &bytes);
    encoder.image_width = WIDTH;
    encoder.image_height = HEIGHT;
    encoder.input_components = CHANNELS;
    encoder.in_color_space = JCS_RGB;
    jpeg_set_defaults(&encoder);
    jpeg_set_quality(&encoder, QUALITY, TRUE);
    jpeg_start_compress(&encoder, TRUE);
    while (encoder.next_scanline < encoder.image_height) {
        const size_t at = (size_t)encoder.next_scanline * WIDTH * CHANNELS;
        unsigned char row[WIDTH * CHANNELS];
        JSAMPROW rows = row;
        memcpy(row, pixels + at, sizeof row);
        (void)jpeg_write_scanlines(&encoder, &rows, 1);
    }
    jpeg_finish_compress(&encoder);
    jpeg_destroy_compress(&encoder);
    return bytes;
}

/* Smooth waves with some grain, so that the JPEG is about as large as that of a photograph. */
static void paint(unsigned char *pixels)
{
    unsigned grain = 1;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            for (int c = 0; c < CHANNELS; c++) {
                grain = grain * 1664525U + 1013904223U;
                const double wave = 110 + 50 * sin(x / (17.0 + c)) + 50 * cos(y / (23.0 - c));
                pixels[(y * WIDTH + x) * CHANNELS + c] =
                    (unsigned char)(wave + (double)(grain >> 29));
            }
}

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Distributes the items over the threads and waits for the last. */
static bool time_task(struct work *works, int threads, size_t task, double *ms)
{
    pthread_t ids[THREADS_MOST];
    int started = 0;
    const double start = now_ms();
    for (int t = 0; t < threads; t++) {
        works[t].task = task;
        works[t].items = ITEMS * (t + 1) / threads - ITEMS * t / threads;
        if (pthread_create(&ids[t], NULL, work_items, &works[t]) != 0)
            break;
        started++;
    }
    for (int t = 0; t < started; t++)
        (void)pthread_join(ids[t], NULL);
    *ms = now_ms() - start;
    return started == threads;
}

static bool time_tasks(struct work *works, int threads)
{
    static const char *const names[TASKS] = {"decode", "resize", "normalise", "all", "post"};
    double ms = 0;
    for (size_t task = 0; task < TASKS; task++) {
        if (!time_task(works, threads, task, &ms)) /* warm-up */
            return false;
        for (int i = 0; i < SAMPLES; i++) {
            if (!time_task(works, threads, task, &ms))
                return false;
            (void)printf("%s,%d,%d,%d,%d,%d,%.6f\n", names[task], threads, ITEMS, WIDTH, HEIGHT, i,
                         ms);
        }
    }
    return true;
}

static void free_works(struct work *works, int threads)
{
    for (int t = 0; works != NULL && t < threads; t++) {
        free(works[t].pixels);
        free(works[t].small);
        free(works[t].planes);
    }
    free(works);
}

static struct work *make_works(const struct work *shared, int threads)
{
    const size_t pixels = (size_t)WIDTH * HEIGHT * CHANNELS;
    struct work *works = calloc((size_t)threads, sizeof *works);
    for (int t = 0; works != NULL && t < threads; t++) {
        works[t] = *shared;
        works[t].pixels = calloc(1, pixels);
        works[t].small = calloc(1, (size_t)SIDE * SIDE * CHANNELS);
        works[t].planes = calloc((size_t)SIDE * SIDE * CHANNELS, sizeof *works[t].planes);
        if (works[t].pixels == NULL || works[t].small == NULL || works[t].planes == NULL) {
            free_works(works, t + 1);
            return NULL;
        }
    }
    return works;
}

static bool measure(int most)
{
    float scores[CLASSES];
    unsigned char *jpeg = NULL;
    unsigned char *pixels = calloc(CHANNELS, (size_t)WIDTH * HEIGHT);
    if (pixels == NULL)
        return false;
    paint(pixels);
    for (int i = 0; i < CLASSES; i++)
        scores[i] = (float)(i * 7919 % CLASSES) / CLASSES;
    const unsigned long bytes = encode(pixels, &jpeg);
    const struct work shared = {
        .jpeg = jpeg, .jpeg_bytes = bytes, .source = pixels, .scores = scores};
    bool good = true;
    (void)printf("task,threads,items,width,height,sample,ms\n");
    for (int threads = 1; good && threads <= most; threads++) {
        struct work *works = make_works(&shared, threads);
        good = works != NULL && time_tasks(works, threads);
        free_works(works, threads);
    }
    free(jpeg);
    free(pixels);
    return good;
}

int main(int argc, char **argv)
{
    char *end = NULL;
    const long most = argc == 2 ? strtol(argv[1], &end, 10) : THREADS;
    if (argc > 2 || most < 1 || most > THREADS_MOST || (end != NULL && *end != '\0')) {
        (void)fprintf(stderr, "measure-cpu: usage: measure-cpu [THREADS], 1..%d\n", THREADS_MOST);
        return 2;
    }
    if (measure((int)most) && fflush(stdout) == 0)
        return 0;
    (void)fprintf(stderr, "measure-cpu: %ld threads cannot be started\n", most);
    return 1;
}

#else

int main(void)
{
    (void)fprintf(stderr, "measure-cpu: was built without libjpeg; install libjpeg-turbo's headers "
                          "and build it again\n");
    return 1;
}

#endif
