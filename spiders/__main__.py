"""``python -m spiders``: a crawl worker."""

from spiders.worker.main import main

if __name__ == "__main__":
    main()
