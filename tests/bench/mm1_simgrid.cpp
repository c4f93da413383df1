// M/M/1 at utilisation 0.9 in SimGrid (S4U): jobs a second of one run of 200,000 arrivals. A source
// and a server, a semaphore that counts who waits; --cfg=contexts/factory:raw.
#include <chrono>
#include <cstdio>
#include <deque>
#include <random>

#include <simgrid/s4u.hpp>

namespace sg4 = simgrid::s4u;

static const int arrivals = 200000;

int main(int argc, char **argv)
{
    sg4::Engine engine(&argc, argv);
    auto *zone = sg4::create_full_zone("zone");
    auto *host = zone->create_host("host", 1e9);
    zone->seal();
    std::mt19937_64 random(1);
    std::exponential_distribution<double> between(0.9), service(1.0);
    std::deque<double> waiting;
    auto ready = sg4::Semaphore::create(0);
    double total = 0;
    sg4::Actor::create("source", host, [&] {
        for (int i = 0; i < arrivals; i++) {
            sg4::this_actor::sleep_for(between(random));
            waiting.push_back(sg4::Engine::get_clock());
            ready->release();
        }
    });
    sg4::Actor::create("server", host, [&] {
        for (int i = 0; i < arrivals; i++) {
            ready->acquire();
            sg4::this_actor::sleep_for(service(random));
            total += sg4::Engine::get_clock() - waiting.front();
            waiting.pop_front();
        }
    });
    auto start = std::chrono::steady_clock::now();
    engine.run();
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    std::printf("%.0f\n", arrivals / spent.count());
    return total > 0 ? 0 : 1;
}
